package assess

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"

	"k8s.io/client-go/rest"
)

const (
	metricsPath = "/metrics"
	dumpPath    = "/debug/api_priority_and_fairness/dump_requests"
)

// sampleEvery is the time between two dumps of the requests in flight. A dump costs kube-apiserver as much as a GET.
const sampleEvery = time.Second

// Live is a running kube-apiserver.
type Live struct {
	client *http.Client
	base   *url.URL
	every  time.Duration // time between two dumps
}

// NewLive returns the kube-apiserver of a configuration.
func NewLive(config *rest.Config) (*Live, error) {
	base, _, err := rest.DefaultServerUrlFor(config)
	if err != nil {
		return nil, fmt.Errorf("parse address of kube-apiserver: %w", err)
	}
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, fmt.Errorf("create client for %s: %w", base, err)
	}
	return &Live{client: client, base: base, every: sampleEvery}, nil
}

// Close closes the connections.
func (l *Live) Close() { l.client.CloseIdleConnections() }

// StatusError is returned when kube-apiserver answers with a code other than 200.
type StatusError struct {
	Path string
	Code int
}

func (e *StatusError) Error() string {
	text := fmt.Sprintf("get %s of kube-apiserver: %d %s", e.Path, e.Code, http.StatusText(e.Code))
	if e.Code == http.StatusForbidden || e.Code == http.StatusUnauthorized {
		text += fmt.Sprintf(": the user needs the verb get on the nonResourceURLs %s and %s", metricsPath, dumpPath)
	}
	return text
}

func (l *Live) get(ctx context.Context, path, query string, read func(io.Reader) error) error {
	target := *l.base.JoinPath(path)
	target.RawQuery = query
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, target.String(), nil)
	if err != nil {
		return fmt.Errorf("create request for %s: %w", path, err)
	}
	response, err := l.client.Do(request)
	if err != nil {
		return err // already contains the URL
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return &StatusError{Path: path, Code: response.StatusCode}
	}
	return read(response.Body)
}

func (l *Live) scrape(ctx context.Context) (s *scrape, err error) {
	err = l.get(ctx, metricsPath, "", func(body io.Reader) (err error) {
		s, err = readScrape(body)
		return err
	})
	return s, err
}

func (l *Live) report(ctx context.Context, o Options, progress io.Writer) (*Report, error) {
	if o.Metrics != "" {
		return nil, errTwoSizes
	}
	from := time.Now()
	before, err := l.scrape(ctx)
	if err != nil {
		return nil, err
	}
	seen, err := l.sample(ctx, o.SampleFor, progress)
	if err != nil {
		return nil, err
	}
	after, err := l.scrape(ctx)
	if err != nil {
		return nil, err
	}
	d := &difference{before: before, after: after, seen: seen, length: time.Since(from)}
	m := &model{sizes: after.sizes, length: d.length, writes: d.writes(), counted: true}
	r := m.report(d.uses(), o.Limit)
	r.From, r.To = from, from.Add(d.length)
	r.Notes = append(seen.notes(), "selectors, limits and resourceVersions are unknown without an audit log: all reads count as consistent.")
	return r, nil
}

func (l *Live) sample(ctx context.Context, period time.Duration, progress io.Writer) (*seats, error) {
	seen := newSeats()
	ticker := time.NewTicker(l.every)
	defer ticker.Stop()
	_, _ = fmt.Fprintf(progress, "Sampling %s for %s\n", l.base.Host, period)
	for range int(period / sampleEvery) {
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-ticker.C:
		}
		if seen.missing {
			continue
		}
		err := l.get(ctx, dumpPath, "includeRequestDetails=1", seen.add)
		var status *StatusError
		switch {
		case errors.As(err, &status) && status.Code == http.StatusNotFound:
			seen.missing = true
		case err != nil:
			return nil, err
		}
	}
	return seen, nil
}
