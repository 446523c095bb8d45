package budget

import (
	"testing"
	"testing/fstest"
)

func TestCgroupLimit(t *testing.T) {
	const (
		v1mounts = "31 23 0:28 / /sys/fs/cgroup rw - tmpfs tmpfs rw,mode=755\n" +
			"34 31 0:31 / /sys/fs/cgroup/cpu rw,relatime - cgroup cgroup rw,cpu\n" +
			"35 31 0:32 / /sys/fs/cgroup/memory rw,relatime shared:1 - cgroup cgroup rw,memory\n"
		v2mounts = "31 23 0:28 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw,nsdelegate\n"
	)
	for name, c := range map[string]struct {
		files map[string]string
		want  int64
	}{
		"nothing":      {nil, 0},
		"no hierarchy": {map[string]string{"proc/self/cgroup": "0::/a\n"}, 0},
		"version 2": {map[string]string{
			"proc/self/cgroup": "0::/a/b\n", "proc/self/mountinfo": v2mounts, "sys/fs/cgroup/a/b/memory.max": "1000\n",
		}, 1000},
		"version 2, above is less": {map[string]string{
			"proc/self/cgroup": "0::/a/b\n", "proc/self/mountinfo": v2mounts, "sys/fs/cgroup/a/b/memory.max": "max\n", "sys/fs/cgroup/a/memory.max": "700\n",
		}, 700},
		"version 2, in a container": {map[string]string{
			"proc/self/cgroup": "0::/\n", "proc/self/mountinfo": v2mounts, "sys/fs/cgroup/memory.max": "900\n",
		}, 900},
		"version 2, elsewhere": {map[string]string{
			"proc/self/cgroup": "0::/../other\n", "proc/self/mountinfo": v2mounts, "sys/fs/cgroup/memory.max": "900\n",
		}, 900},
		"version 2 without limit": {map[string]string{
			"proc/self/cgroup": "0::/a\n", "proc/self/mountinfo": v2mounts, "sys/fs/cgroup/a/memory.max": "max\n",
		}, 0},
		"version 1": {map[string]string{
			"proc/self/cgroup": "5:cpu:/x\n4:memory:/a\n0::/\n", "proc/self/mountinfo": v1mounts,
			"sys/fs/cgroup/memory/a/memory.limit_in_bytes": "1000\n", "sys/fs/cgroup/memory/memory.limit_in_bytes": "9223372036854771712\n",
			"sys/fs/cgroup/cpu/x/memory.limit_in_bytes": "1\n",
		}, 1000},
		"version 1, in a container": {map[string]string{
			"proc/self/cgroup": "4:cpu,memory:/docker/abc\n", "proc/self/mountinfo": v1mounts, "sys/fs/cgroup/memory/memory.limit_in_bytes": "1000\n",
		}, 1000},
		"version 1 without limit": {map[string]string{
			"proc/self/cgroup": "4:memory:/\n", "proc/self/mountinfo": v1mounts, "sys/fs/cgroup/memory/memory.limit_in_bytes": "9223372036854771712\n",
		}, 0},
		"garbage": {map[string]string{
			"proc/self/cgroup": "\n:\n0:\nx", "proc/self/mountinfo": "- cgroup2\n - cgroup2 a b\n" + v2mounts, "sys/fs/cgroup/memory.max": "many\n",
		}, 0},
	} {
		root := fstest.MapFS{}
		for name, text := range c.files {
			root[name] = &fstest.MapFile{Data: []byte(text)}
		}
		if got := CgroupLimit(root); got != c.want {
			t.Errorf("%s: got %d, want %d", name, got, c.want)
		}
	}
}
