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

// hardLimit is the memory that a process may have: the kernel kills it, or gives it no more.
type hardLimit struct {
	group string // the cgroup's directory; empty where none can be made
	bytes int64
}

// newHardLimit makes a cgroup below that of the test, or beside it; it is removed with the test. Where there are none
// to be made, the limit is that of a process' writable memory, which counts what is garbage and what was given back,
// too, and so is thrice as much.
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
	t.Logf("no cgroup can be made: %v", errors.Join(failed...))
	return hardLimit{bytes: bytes}
}

// makeGroup makes a cgroup whose memory is limited, without swap where there is some.
func makeGroup(group, file string, bytes int64) error {
	if err := os.Mkdir(group, 0o755); err != nil {
		return err
	}
	if err := tell(group, file, strconv.FormatInt(bytes, 10)); err != nil {
		return errors.Join(err, os.Remove(group))
	}
	for name, value := range map[string]string{"memory.swap.max": "0", "memory.swappiness": "0"} {
		_ = tell(group, name, value) // of the other version
	}
	return nil
}

// tell writes to a file of a cgroup, which is there: a directory that is none has no such files.
func tell(group, name, value string) error {
	file, err := os.OpenFile(filepath.Join(group, name), os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = file.WriteString(value)
	return errors.Join(err, file.Close())
}

type cgroupPlace struct{ parent, file string }

// cgroupPlaces are where a cgroup may be made: below the test's own, and for version 2, which wants no processes beside
// groups, beside it.
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

// command is a command line that runs a program within the limit.
func (l hardLimit) command(program string, args ...string) []string {
	if l.group != "" {
		return append([]string{"sh", "-c", `echo $$ > "$0/cgroup.procs" && exec "$@"`, l.group, program}, args...)
	}
	// A thread's stack counts as a whole.
	limited := fmt.Sprintf(`ulimit -s 512 && ulimit -d %d && exec "$@"`, 3*l.bytes>>10)
	return append([]string{"sh", "-c", limited, "sh", program}, args...)
}
