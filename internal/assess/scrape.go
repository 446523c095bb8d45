package assess

import (
	"bufio"
	"fmt"
	"io"
	"strconv"
	"strings"
)

type kind struct {
	verb, group, resource, subresource, scope string
}

type total struct {
	requests, failed float64
	seconds          float64 // sum of the durations
	open             float64 // long-running requests that are in flight
}

type scrape struct {
	sizes  sizes
	totals map[kind]total
	sent   map[resource]float64 // events sent to watches
}

func readScrape(from io.Reader) (*scrape, error) {
	s := &scrape{sizes: sizes{}, totals: map[kind]total{}, sent: map[resource]float64{}}
	lines := bufio.NewScanner(from)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		if name, labels, value, ok := sampleOf(lines.Text()); ok && value >= 0 { // -1: kube-apiserver could not read a size
			s.sample(name, labels, value)
		}
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("read metrics: %w", err)
	}
	if len(s.sizes) == 0 {
		return nil, errNoSizes
	}
	return s, nil
}

func (s *scrape) sample(name string, labels map[string]string, value float64) {
	of := resource{labels["group"], labels["resource"]}
	switch name {
	case "apiserver_storage_objects": // metric of servers before 1.34
		of.name, of.group, _ = strings.Cut(labels["resource"], ".")
		if known := s.sizes[of]; known.objects == 0 {
			s.sizes[of] = size{objects: value, bytes: known.bytes}
		}
	case "apiserver_resource_objects":
		s.sizes[of] = size{objects: value, bytes: s.sizes[of].bytes}
	case "apiserver_resource_size_estimate_bytes":
		s.sizes[of] = size{objects: s.sizes[of].objects, bytes: value}
	case "apiserver_watch_events_total":
		s.sent[of] += value
	case "apiserver_request_total", "apiserver_request_duration_seconds_sum", "apiserver_longrunning_requests":
		s.request(name, labels, value)
	}
}

func (s *scrape) request(name string, labels map[string]string, value float64) {
	k := kind{strings.ToLower(labels["verb"]), labels["group"], labels["resource"], labels["subresource"], labels["scope"]}
	t := s.totals[k]
	switch name {
	case "apiserver_request_total":
		t.requests += value
		if code, err := strconv.Atoi(labels["code"]); err == nil && code >= 400 {
			t.failed += value
		}
	case "apiserver_request_duration_seconds_sum":
		t.seconds += value
	default:
		t.open += value
	}
	s.totals[k] = t
}

// sampleOf parses a line: name{label="value",...} number.
func sampleOf(line string) (name string, labels map[string]string, value float64, ok bool) {
	if line == "" || line[0] == '#' || !strings.HasPrefix(line, "apiserver_") {
		return "", nil, 0, false
	}
	end := strings.LastIndexByte(line, ' ')
	if end < 0 {
		return "", nil, 0, false
	}
	value, err := strconv.ParseFloat(line[end+1:], 64)
	if err != nil {
		return "", nil, 0, false
	}
	name, rest, _ := strings.Cut(line[:end], "{")
	if !used[name] {
		return "", nil, 0, false
	}
	labels = map[string]string{}
	for rest != "" && rest != "}" {
		label, after, found := strings.Cut(rest, `="`)
		text, after, closed := strings.Cut(after, `"`) // labels of these metrics contain no quotes
		if !found || !closed {
			return "", nil, 0, false
		}
		labels[strings.TrimLeft(label, ", ")], rest = text, after
	}
	return name, labels, value, true
}

// used are the metrics that sample uses. Most lines are of other metrics, such as buckets of histograms.
var used = map[string]bool{
	"apiserver_storage_objects": true, "apiserver_resource_objects": true, "apiserver_resource_size_estimate_bytes": true,
	"apiserver_watch_events_total": true, "apiserver_request_total": true, "apiserver_request_duration_seconds_sum": true,
	"apiserver_longrunning_requests": true,
}
