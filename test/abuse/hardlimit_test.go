package abuse

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/listfacade/listfacade/internal/testkit"
)

// hardLimit is a memory limit of a process. Beyond it the kernel kills the process or refuses allocations.
type hardLimit struct {
	group string // directory of the cgroup; empty if none can be created
	bytes int64
}

// newHardLimit creates a cgroup below the test's own or next to it, and removes it with the test. If that fails, the
// limit is one of writable memory (ulimit -d). That also counts garbage and released memory, so it is three times as
// high.
func newHardLimit(t *testing.T, bytes int64) hardLimit {
	t.Helper()
	var failed []error
	for _, place := range cgroupPlaces(t) {
		group := filepath.Join(place.parent, "listfacade-test-"+strconv.Itoa(os.Getpid()))
		err := makeGroup(group, place.file, bytes)
		if err == nil {
			t.Cleanup(func() {
				testkit.Eventually(t, "the cgroup is removed", func() error { return os.Remove(group) })
			})
			return hardLimit{group: group, bytes: bytes}
		}
		failed = append(failed, err)
	}
	t.Logf("create cgroup: %v", errors.Join(failed...))
	return hardLimit{bytes: bytes}
}

// makeGroup creates a cgroup with a memory limit and without swap.
func makeGroup(group, file string, bytes int64) error {
	if err := os.Mkdir(group, 0o755); err != nil {
		return err
	}
	if err := tell(group, file, strconv.FormatInt(bytes, 10)); err != nil {
		return errors.Join(err, os.Remove(group))
	}
	for name, value := range map[string]string{"memory.swap.max": "0", "memory.swappiness": "0"} {
		_ = tell(group, name, value) // exists in one cgroup version only
	}
	return nil
}

// tell writes to an existing file of a cgroup. In a directory that is not a cgroup the file does not exist.
func tell(group, name, value string) error {
	file, err := os.OpenFile(filepath.Join(group, name), os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = file.WriteString(value)
	return errors.Join(err, file.Close())
}

type cgroupPlace struct{ parent, file string }

// cgroupPlaces returns where a cgroup may be created: below the test's own and, for version 2, next to it, because a
// version 2 cgroup must not contain both processes and groups.
func cgroupPlaces(t *testing.T) []cgroupPlace {
	t.Helper()
	const mount = "/sys/fs/cgroup"
	text, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		t.Log(err)
		return nil
	}
	var places []cgroupPlace
	for line := range strings.Lines(string(text)) {
		parts := strings.SplitN(strings.TrimSpace(line), ":", 3)
		switch {
		case len(parts) != 3:
		case strings.Contains(","+parts[1]+",", ",memory,"):
			places = append(places, cgroupPlace{filepath.Join(mount, "memory", parts[2]), "memory.limit_in_bytes"})
		case parts[0] == "0":
			own := filepath.Join(mount, parts[2])
			places = append(places, cgroupPlace{own, "memory.max"}, cgroupPlace{filepath.Dir(own), "memory.max"})
		}
	}
	return places
}

// command returns a command line that runs a program within the limit.
func (l hardLimit) command(program string, args ...string) []string {
	if l.group != "" {
		return append([]string{"sh", "-c", `echo $$ > "$0/cgroup.procs" && exec "$@"`, l.group, program}, args...)
	}
	// The complete stack of a thread counts.
	limited := fmt.Sprintf(`ulimit -s 512 && ulimit -d %d && exec "$@"`, 3*l.bytes>>10)
	return append([]string{"sh", "-c", limited, "sh", program}, args...)
}
