package assess

import (
	"bufio"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
)

// seats counts the executing requests in the dumps by caller. A caller whose requests execute longer, or occupy more
// seats, is found more often. Therefore a caller's share of the seats is its share of the work.
type seats struct {
	looks   int
	missing bool // kube-apiserver has no API Priority and Fairness
	found   map[work]map[string]float64
}

type work struct{ verb, group, resource string }

func newSeats() *seats { return &seats{found: map[work]map[string]float64{}} }

// add reads one dump of the requests in flight, a table whose cells are separated by commas.
func (s *seats) add(dump io.Reader) error {
	s.looks++
	lines := bufio.NewScanner(dump)
	lines.Buffer(nil, 1<<20)
	var columns []string
	for lines.Scan() {
		cells := strings.Split(lines.Text(), ",")
		for i := range cells {
			cells[i] = strings.TrimSpace(cells[i])
		}
		if columns == nil {
			columns = cells
			continue
		}
		if len(cells) == len(columns) { // false if a name contains a comma
			s.count(columns, cells)
		}
	}
	return lines.Err()
}

func (s *seats) count(columns, cells []string) {
	cell := func(name string) string {
		if i := slices.Index(columns, name); i >= 0 {
			return cells[i]
		}
		return ""
	}
	if strings.HasPrefix(cell("StartTime"), "0001-") { // the request waits for a seat
		return
	}
	group := ""
	if before, _, versioned := strings.Cut(cell("APIVersion"), "/"); versioned {
		group = before
	}
	of := work{cell("Verb"), group, cell("Resource")}
	if cell("UserName") == "" || of.resource == "" {
		return
	}
	number, err := strconv.Atoi(cell("InitialSeats"))
	if err != nil || number < 1 {
		number = 1
	}
	if s.found[of] == nil {
		s.found[of] = map[string]float64{}
	}
	user, isGroup := userOf([]byte(cell("UserName")))
	name := printable(user)
	if isGroup {
		name += "*"
	}
	s.found[of][name] += float64(number)
}

func (s *seats) notes() []string {
	if s.missing {
		return []string{"kube-apiserver has no API Priority and Fairness, so users are unknown. Assess an audit log instead."}
	}
	all := 0.0
	for _, users := range s.found {
		for _, n := range users {
			all += n
		}
	}
	return []string{fmt.Sprintf("users are known from %.0f seats in %d dumps of the requests in flight. Programs, and users of watches, are unknown.",
		all, s.looks)}
}
