package incidents

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/listfacade/listfacade/internal/testkit/suite"
)

// scrape is the result of one scrape of a replica.
type scrape struct {
	at     time.Time
	values map[string]float64 // by series, with the labels that Prometheus adds; nil where there was no answer
}

// kinds returns the types of metrics by name.
type kinds map[string]string

// target is a replica that Prometheus scrapes by the PodMonitor.
type target struct {
	pod    string
	url    string
	client *http.Client
}

// labels returns the labels that Prometheus adds to every series of the replica.
func (g *target) labels() string {
	return fmt.Sprintf(`job="listfacade",namespace="listfacade-system",pod=%q`, g.pod)
}

// scrape requests the replica's metrics.
func (g *target) scrape(ctx context.Context, known kinds, wanted map[string]bool) scrape {
	s := scrape{at: time.Now()}
	ctx, cancel := context.WithTimeout(ctx, suite.Patience)
	defer cancel()
	body, err := g.get(ctx)
	if err != nil {
		return s
	}
	defer body.Close()
	values := map[string]float64{}
	lines := bufio.NewScanner(body)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		line := lines.Text()
		if kind, ok := strings.CutPrefix(line, "# TYPE "); ok {
			name, kind, _ := strings.Cut(kind, " ")
			known[name] = kind
			continue
		}
		end := strings.LastIndexByte(line, ' ')
		if strings.HasPrefix(line, "#") || end < 0 || !wanted[nameOf(line)] {
			continue
		}
		value, err := strconv.ParseFloat(line[end+1:], 64)
		if err != nil {
			return s
		}
		values[g.labelled(line[:end])] = value
	}
	if lines.Err() == nil {
		s.values = values
	}
	return s
}

var errScrape = errors.New("the replica did not send metrics")

func (g *target) get(ctx context.Context) (io.ReadCloser, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, g.url+"/metrics", nil)
	if err != nil {
		return nil, err
	}
	response, err := g.client.Do(request)
	if err != nil {
		return nil, err
	}
	if response.StatusCode != http.StatusOK {
		return nil, errors.Join(errScrape, response.Body.Close())
	}
	return response.Body, nil
}

// nameOf returns the name of a series' metric.
func nameOf(series string) string {
	if end := strings.IndexAny(series, "{ "); end >= 0 {
		return series[:end]
	}
	return series
}

// labelled returns a series with the labels that Prometheus adds.
func (g *target) labelled(series string) string {
	name, labels, _ := strings.Cut(series, "{")
	if labels == "" {
		return name + "{" + g.labels() + "}"
	}
	return name + "{" + g.labels() + "," + labels
}
