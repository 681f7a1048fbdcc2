"""The software bill of materials of a package: which other projects it contains, in the format CycloneDX 1.6 (ECMA-424).

A component has its version, its licence, its origin as a package URL, the SHA-256 that the lists in scripts/ pin for it, and the
files of the package that belong to it. Debian signs its packages, so those have no pinned SHA-256. The text depends only on
the package: it has no time and no serial number.
"""
import hashlib
import json
import pathlib
import re
import subprocess

SCRIPTS = pathlib.Path(__file__).resolve().parent.parent / "scripts"
SPDX_EXPRESSION = re.compile(r"[A-Za-z0-9.+-]+( (AND|OR) [A-Za-z0-9.+-]+)*")
NVIDIA = "NVIDIA software license"
# The packages of scripts/libtorch/VERSION/libtorch.txt: licence, pattern of the files.
LIBTORCH = {"torch": ("BSD-3-Clause", r"lib/tenon/torch/lib/.*"),
            "nvidia-cuda-runtime": (NVIDIA, r"lib/tenon/nvidia/.*libcudart\.so.*"),
            "nvidia-cuda-cupti": (NVIDIA, r"lib/tenon/nvidia/.*libcupti\.so.*")}


def read_pins(name):
    """Reads scripts/NAME.txt: package -> version, SHA-256."""
    text = re.sub(r"\\\n", " ", (SCRIPTS / f"{name}.txt").read_text(encoding="utf-8"))
    return {package: (version, digest)
            for package, version, digest in re.findall(r"^(\S+)==(\S+)\s+--hash=sha256:([0-9a-f]{64})", text, re.M)}


def origin_of_pin(name, package):
    """The origin of a package of PyPI that scripts/NAME.txt pins."""
    version, digest = read_pins(name)[package]
    return {"name": package, "version": version, "purl": f"pkg:pypi/{package}@{version}",
            "hashes": [{"alg": "SHA-256", "content": digest}]}


def origin_of_debian_package(package):
    version, machine = subprocess.run(["dpkg-query", "-W", "-f", "${Version} ${Architecture}", package], check=True, text=True,
                                      stdout=subprocess.PIPE).stdout.split()
    purl_version = version.replace("+", "%2B").replace(":", "%3A").replace("~", "~")
    return {"name": package, "version": version, "purl": f"pkg:deb/debian/{package}@{purl_version}?arch={machine}"}


def origin_of_copy(folder):
    """The origin of a project of GitHub with files in this tree, from the table in the folder's README.md."""
    text = (folder / "README.md").read_text(encoding="utf-8")
    repository, version = re.search(r"<https://github.com/(\S+)>, tag (\S+),", text).groups()
    digests = re.findall(r"^\| (\S+) \| ([0-9a-f]{64}) \|$", text, re.M)
    for name, digest in digests:
        if hashlib.sha256((folder / name).read_bytes()).hexdigest() != digest:
            raise ValueError(f"{folder / name}: its SHA-256 is not that of README.md")
    return {"name": repository.split("/")[1], "version": version, "purl": f"pkg:github/{repository.lower()}@{version}",
            "hashes": [{"alg": "SHA-256", "content": digests[0][1]}]}


def print_licence(licence):
    if SPDX_EXPRESSION.fullmatch(licence):
        return [{"expression": licence}]
    return [{"license": {"name": licence}}]


def find_files(folder, pattern):
    """The files of the package with such a path: path -> SHA-256."""
    found = {}
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder).as_posix()
        if re.fullmatch(pattern, name) and path.is_file() and not path.is_symlink():
            found[name] = hashlib.sha256(path.read_bytes()).hexdigest()
    return found


def make_component(origin, title, licence, files, scope="required"):
    """`files`: the files of the component, path -> SHA-256. Without files it is compiled into others."""
    files = [{"type": "file", "bom-ref": f"file:{path}", "name": path, "hashes": [{"alg": "SHA-256", "content": digest}]}
             for path, digest in files.items()]
    component = {"type": "library", "bom-ref": origin["purl"], "name": origin["name"], "version": origin["version"],
                 "description": title, "scope": scope}
    if "hashes" in origin:
        component["hashes"] = origin["hashes"]
    component |= {"licenses": print_licence(licence), "purl": origin["purl"]}
    if files:
        component["components"] = files
    return component


def list_libtorch(folder, version):
    """LibTorch, and the libraries of NVIDIA that it loads."""
    return [make_component(origin_of_pin(f"libtorch/{version}/libtorch", package), "LibTorch for CPUs, and what it loads", licence,
                           find_files(folder, r"(usr/)?" + pattern)) for package, (licence, pattern) in LIBTORCH.items()]


def list_packages_of_torch(versions):
    """The same for the wheel, which has none of them: it depends on the package torch, in one of these versions."""
    origins = [(origin_of_pin(f"libtorch/{version}/libtorch", package), licence)
               for version in versions for package, (licence, _) in LIBTORCH.items()]
    return list({origin["purl"]: make_component(origin, "not contained: pip installs one of the versions", licence, {}, "excluded")
                 for origin, licence in origins}.values())


def print_sbom(contents, folder, pypi_name):
    """Returns the JSON. `folder` has the package as it is installed; its libraries must not change afterwards.
    `pypi_name`: the name of a wheel, which does not contain LibTorch; None for the other packages."""
    components = []
    for title, licence, names, origin in contents.parts:
        files = find_files(folder, "(.*/)?(" + "|".join(map(re.escape, names)) + ")") if names else {}
        if files or not names:
            components.append(make_component(origin, title, licence, files))
    components += (list_packages_of_torch(contents.torch_versions) if pypi_name else
                   list_libtorch(folder, contents.torch_version))
    product = {"type": "application", "bom-ref": "tenon", "name": pypi_name or "tenon", "version": contents.version,
               "licenses": print_licence("Apache-2.0")}
    if pypi_name:
        product["purl"] = f"pkg:pypi/{pypi_name}@{contents.version}"
    bom = {"$schema": "http://cyclonedx.org/schema/bom-1.6.schema.json", "bomFormat": "CycloneDX", "specVersion": "1.6",
           "version": 1, "metadata": {"component": product}, "components": components,
           "dependencies": [{"ref": "tenon", "dependsOn": [component["bom-ref"] for component in components]}]}
    return json.dumps(bom, indent=1) + "\n"
