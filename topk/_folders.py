"""Whether other users can write to a folder whose files decide results (POSIX systems only)."""

import os
import stat


def exposed(path):
    """Return why other users can change or replace files in a folder; None if they cannot.

    Parameters
    ----------
    path : pathlib.Path
        An existing folder.

    Returns
    -------
    str or None
        The reason, with a remedy.  A folder is safe if it belongs to the user or to root, and if
        only these can write to it, or also a group of which the user is the only member.  In a
        folder with the sticky bit, such as ``/tmp``, others cannot replace files either.

    Notes
    -----
    With umask 002 new folders are writable for their group.  Where this is the default, as in
    Debian, each user's primary group has the user's name and no other members.
    """
    if not hasattr(os, "getuid"):
        return None
    found = path.stat()
    if found.st_uid not in (os.getuid(), 0):
        return f"{path} belongs to another user (uid {found.st_uid}): use a folder of your own"
    writers = found.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
    if not writers or found.st_mode & stat.S_ISVTX:
        return None
    if writers == stat.S_IWGRP and is_private(found.st_gid):
        return None
    return f"other users may write to {path}: if it is yours, chmod go-w {path}"


def is_private(group):
    """Return whether a group is the user's private one: of the same name, and without others."""
    import grp
    import pwd

    try:
        user, found = pwd.getpwuid(os.getuid()), grp.getgrgid(group)
    except KeyError:  # a user or a group without a name, as in some containers
        return False
    alone = {*found.gr_mem} <= {user.pw_name}
    return group == user.pw_gid and found.gr_name == user.pw_name and alone
