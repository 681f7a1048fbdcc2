#!/usr/bin/python3
"""Mounts a folder at another one with FUSE, without symbolic links and without removing some files, as network drives do:
refusing_file_system.py FOLDER MOUNT_POINT PART

Creating a symbolic link fails with EOPNOTSUPP, and exchanging two names with EINVAL. Removing a file with PART in its name fails
with EBUSY. Needs Debian's python3-fusepy. Runs until it is unmounted.
"""
import errno
import os
import sys

import fusepy as fuse


class RefusingFileSystem(fuse.Operations):
    def __init__(self, folder, kept):
        self.folder, self.kept = folder, kept

    def _at(self, path):
        return os.path.join(self.folder, path.lstrip("/"))

    def getattr(self, path, fh=None):
        status = os.lstat(self._at(path))
        return {key: getattr(status, key) for key in
                ("st_atime", "st_ctime", "st_gid", "st_mode", "st_mtime", "st_nlink", "st_size", "st_uid", "st_blocks")}

    def readdir(self, path, fh):
        return [".", "..", *os.listdir(self._at(path))]

    def open(self, path, flags):
        return os.open(self._at(path), flags)

    def create(self, path, mode, fi=None):
        return os.open(self._at(path), os.O_RDWR | os.O_CREAT | os.O_EXCL, mode)

    def read(self, path, size, offset, fh):
        return os.pread(fh, size, offset)

    def write(self, path, data, offset, fh):
        return os.pwrite(fh, data, offset)

    def truncate(self, path, length, fh=None):
        os.truncate(self._at(path), length)

    def fsync(self, path, datasync, fh):
        os.fsync(fh)

    def release(self, path, fh):
        os.close(fh)

    def mkdir(self, path, mode):
        os.mkdir(self._at(path), mode)

    def rmdir(self, path):
        os.rmdir(self._at(path))

    def rename(self, old, new):
        os.rename(self._at(old), self._at(new))

    def utimens(self, path, times=None):
        os.utime(self._at(path), times)

    def symlink(self, target, source):
        raise fuse.FuseOSError(errno.EOPNOTSUPP)

    def unlink(self, path):
        if self.kept in os.path.basename(path):
            raise fuse.FuseOSError(errno.EBUSY)
        os.unlink(self._at(path))


if __name__ == "__main__":
    fuse.FUSE(RefusingFileSystem(sys.argv[1], sys.argv[3]), sys.argv[2], foreground=True, default_permissions=False)
