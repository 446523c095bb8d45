package budget

import (
	"bufio"
	"io"
	"io/fs"
	"math"
	"path"
	"strconv"
	"strings"
)

// CgroupLimit returns the memory limit of the process in bytes: the lowest limit of its cgroup and of the visible
// cgroups above it. It returns 0 if there is no known limit. root is the root file system.
func CgroupLimit(root fs.FS) int64 {
	least := int64(math.MaxInt64)
	for _, group := range groupsOf(root) {
		for _, at := range group.mounts {
			for dir := path.Join(at, group.path); ; dir = path.Dir(dir) {
				if limit := limitIn(root, path.Join(dir, group.file)); limit > 0 {
					least = min(least, limit)
				}
				if dir == at || !strings.HasPrefix(dir, at) {
					break
				}
			}
		}
	}
	if least >= unlimited {
		return 0
	}
	return least
}

// unlimited is the smallest number that counts as no limit. Without a limit, cgroups of version 1 report a larger
// number: the largest multiple of the page size.
const unlimited = math.MaxInt64 >> 1

type group struct {
	path   string   // path of the group in its hierarchy
	mounts []string // mount points of hierarchies, one of which contains the group
	file   string   // name of the file with the limit
}

// groupsOf returns the cgroups of the process from /proc/self/cgroup: a line "0::/path" of version 2, or
// "4:memory:/path" of version 1. In a container, the path may be the path on the host, but the container's group is
// mounted at the mount point. Then the directory of the path does not exist, and the mount point has the limit.
func groupsOf(root fs.FS) []group {
	var groups []group
	eachLine(root, "proc/self/cgroup", func(line string) {
		parts := strings.SplitN(line, ":", 3)
		if len(parts) != 3 {
			return
		}
		switch {
		case parts[0] == "0" && parts[1] == "":
			groups = append(groups, group{path: path.Clean("/" + parts[2]), mounts: mounts(root, "cgroup2", ""),
				file: "memory.max"})
		case contains(parts[1], "memory"):
			groups = append(groups, group{path: path.Clean("/" + parts[2]), mounts: mounts(root, "cgroup", "memory"),
				file: "memory.limit_in_bytes"})
		}
	})
	return groups
}

// mounts returns the mount points, relative to the root, of file systems with the given type and option.
func mounts(root fs.FS, kind, option string) []string {
	var points []string
	eachLine(root, "proc/self/mountinfo", func(line string) {
		// Example of a line: "36 31 0:32 / /sys/fs/cgroup/memory rw,relatime - cgroup cgroup rw,memory"
		head, tail, found := strings.Cut(line, " - ")
		mount, system := strings.Fields(head), strings.Fields(tail)
		if !found || len(mount) < 5 || len(system) < 3 || system[0] != kind || option != "" && !contains(system[2], option) {
			return
		}
		points = append(points, strings.TrimPrefix(mount[4], "/"))
	})
	return points
}

func contains(list, option string) bool { return strings.Contains(","+list+",", ","+option+",") }

func limitIn(root fs.FS, name string) int64 {
	text, err := fs.ReadFile(root, name)
	if err != nil {
		return 0
	}
	limit, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64) // fails for "max", which means no limit
	if err != nil {
		return 0
	}
	return limit
}

func eachLine(root fs.FS, name string, do func(line string)) {
	file, err := root.Open(name)
	if err != nil {
		return
	}
	defer func() { _ = file.Close() }()
	for lines := bufio.NewScanner(io.LimitReader(file, 1<<20)); lines.Scan(); {
		do(lines.Text())
	}
}
