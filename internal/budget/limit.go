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

// CgroupLimit is how many bytes of memory the kernel lets the process have: the least of the limits of its cgroup and
// of those above it, as far as they are seen. root is the file system from its root. 0 is any number, or one that is
// not known.
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

// unlimited is about what cgroups of version 1 say where there is no limit: pages up to the largest number.
const unlimited = math.MaxInt64 >> 1

// group is a cgroup that may limit memory.
type group struct {
	path   string   // of the group in its hierarchy
	mounts []string // where hierarchies are mounted, of which one is its
	file   string   // that has the limit
}

// groupsOf are the process' groups, by /proc/self/cgroup: a line "0::/path" of version 2, or "4:memory:/path" of
// version 1. In a container the path may be the host's, and the container's group what is mounted: then the directory
// is not there, and that of the mount has the limit.
func groupsOf(root fs.FS) []group {
	var groups []group
	eachLine(root, "proc/self/cgroup", func(line string) {
		parts := strings.SplitN(line, ":", 3)
		if len(parts) != 3 {
			return
		}
		switch {
		case parts[0] == "0" && parts[1] == "":
			groups = append(groups, group{path: path.Clean("/" + parts[2]), mounts: mounts(root, "cgroup2", ""), file: "memory.max"})
		case contains(parts[1], "memory"):
			groups = append(groups, group{path: path.Clean("/" + parts[2]), mounts: mounts(root, "cgroup", "memory"), file: "memory.limit_in_bytes"})
		}
	})
	return groups
}

// mounts are where file systems of a type are mounted that have an option, below the root, by /proc/self/mountinfo.
func mounts(root fs.FS, kind, option string) []string {
	var places []string
	eachLine(root, "proc/self/mountinfo", func(line string) {
		// "36 31 0:32 / /sys/fs/cgroup/memory rw,relatime - cgroup cgroup rw,memory"
		head, tail, found := strings.Cut(line, " - ")
		of, what := strings.Fields(head), strings.Fields(tail)
		if !found || len(of) < 5 || len(what) < 3 || what[0] != kind || option != "" && !contains(what[2], option) {
			return
		}
		places = append(places, strings.TrimPrefix(of[4], "/"))
	})
	return places
}

func contains(list, option string) bool { return strings.Contains(","+list+",", ","+option+",") }

// limitIn is the limit that a file says; 0 when it says none.
func limitIn(root fs.FS, name string) int64 {
	text, err := fs.ReadFile(root, name)
	if err != nil {
		return 0
	}
	limit, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64) // or "max"
	if err != nil {
		return 0
	}
	return limit
}

// eachLine reads a file, if it is there.
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
