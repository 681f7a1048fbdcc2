#!/usr/bin/env python3
"""Checks the bill of materials of the wheel: check_sbom.py SBOM FOLDER

FOLDER has the installed files. Every file in SBOM must be there with its SHA-256, every library next to the plugins must be in
SBOM, and the digests must be pinned in this tree. Validates the format with the package cyclonedx if Python has it.
"""
import hashlib
import json
import pathlib
import re
import sys

PURL = re.compile(r"pkg:(pypi/[a-z0-9.-]+@[0-9][0-9a-z.]*|github/[a-z0-9./-]+@[0-9.]+|deb/debian/[a-z0-9.+-]+@[A-Za-z0-9.%~-]+\?arch=[a-z0-9]+)")
SCRIPTS = pathlib.Path(__file__).resolve().parents[2] / "scripts"
# What every wheel has: parts that are compiled in, libraries, and the package that it depends on.
EXPECTED = ("nlohmann-json3-dev", "uPlot", "libxxhash-dev", "sentencepiece", "libspdlog1.10", "torch")


def main():
    text = pathlib.Path(sys.argv[1]).read_text(encoding="utf-8")
    folder = pathlib.Path(sys.argv[2])
    bom = json.loads(text)
    findings = []
    product = bom["metadata"]["component"]
    purl = f"pkg:pypi/tenon-host@{product['version']}"
    if (product["name"], product.get("purl")) != ("tenon-host", purl):
        findings.append(f"the wheel is {product['name']}, {product.get('purl')}; expected tenon-host, {purl}")
    if (bom["bomFormat"], bom["specVersion"]) != ("CycloneDX", "1.6"):
        findings.append(f"format {bom['bomFormat']} {bom['specVersion']}; expected CycloneDX 1.6")
    pinned = [*SCRIPTS.rglob("*.txt"), SCRIPTS.parent / "framework/reporting/report/uplot/README.md"]
    pins = "".join(path.read_text(encoding="utf-8") for path in pinned)
    files = {}
    for component in bom["components"]:
        name = component["name"]
        if not PURL.fullmatch(component["purl"]) or not component["licenses"] or not component["version"]:
            findings.append(f"{name}: purl {component['purl']}, licences {component['licenses']}")
        for digest in component.get("hashes", []):
            if digest["content"] not in pins:
                findings.append(f"{name}: the SHA-256 {digest['content']} is not pinned")
        if component["purl"].startswith("pkg:pypi/") and not component.get("hashes"):
            findings.append(f"{name}: has no SHA-256")
        for file in component.get("components", []):
            files[file["name"]] = file["hashes"][0]["content"]
    names = [component["name"] for component in bom["components"]]
    findings += [f"there is no component {name}" for name in EXPECTED if name not in names]
    references = [component["bom-ref"] for component in bom["components"]]
    if sorted(set(references)) != sorted(bom["dependencies"][0]["dependsOn"]):
        findings.append("the dependencies are not the components, each once")
    for name, digest in files.items():
        path = folder / name
        if not path.is_file() or hashlib.sha256(path.read_bytes()).hexdigest() != digest:
            findings.append(f"{name}: missing, or with another SHA-256")
    for path in sorted(folder.glob("tenon_host/lib/tenon/lib*.so*")):
        if path.name != "libtenon_cuda.so" and path.relative_to(folder).as_posix() not in files:
            findings.append(f"{path.name}: in the package, but not in the bill of materials")
    try:
        from cyclonedx.schema import SchemaVersion
        from cyclonedx.validation.json import JsonStrictValidator
        error = JsonStrictValidator(SchemaVersion.V1_6).validate_str(text)
        findings += [f"the schema: {error}"] if error else []
    except ImportError:
        pass
    for finding in findings:
        print(f"{sys.argv[1]}: {finding}")
    return 1 if findings else 0


sys.exit(main())
