package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/url"
	"regexp"
	"time"

	utilnet "k8s.io/apimachinery/pkg/util/net"

	"github.com/listfacade/listfacade/bench/internal/files"
)

// caller is a client with its own connections.
type caller struct {
	server *server
	client *http.Client
}

// callers creates clients and opens their connections.
func (s *server) callers(ctx context.Context, n int, p protocol) ([]caller, error) {
	var all []caller
	for range n {
		client, err := s.visitor(p)
		if err != nil {
			return nil, err
		}
		c := caller{server: s, client: client}
		all = append(all, c)
		if _, _, err := c.fetch(ctx, question{path: files.Ping, accept: "*/*", encoding: "identity", protocol: p},
			io.Discard); err != nil {
			return nil, err
		}
	}
	return all, nil
}

func dismiss(callers []caller) {
	for _, c := range callers {
		utilnet.CloseIdleConnectionsFor(c.client.Transport)
	}
}

// visit returns the visit of a client of kube-apiserver or the facade.
func (l load) visit() visit {
	return func(ctx context.Context, c caller) (sample, error) {
		return l.ask(ctx, c, nil)
	}
}

// ask reads the complete response to the load's question. If take is not nil, it receives every response as sent.
// Otherwise only the head of a page is kept, for its continue token.
func (l load) ask(ctx context.Context, c caller, take func(reading) error) (sample, error) {
	switch l.shape {
	case walked:
		return c.walk(ctx, l.question, take)
	case streamed:
		return c.stream(ctx, l.question, take)
	default:
		a, one, err := c.answer(ctx, l.question, keep(take))
		if err == nil && take != nil {
			err = take(a)
		}
		return one, err
	}
}

// keep returns how many bytes of a body are kept: all of them if take is not nil.
func keep(take func(reading) error) int {
	if take == nil {
		return headBytes
	}
	return math.MaxInt
}

// answer reads one response and keeps at most the given number of bytes.
func (c caller) answer(ctx context.Context, q question, most int) (reading, sample, error) {
	kept := &beginning{most: most}
	header, one, err := c.fetch(ctx, q, kept)
	return reading{header: header, body: kept.Bytes()}, one, err
}

// headBytes is the number of bytes of a body, compressed or not, that contain the list's own metadata.
const headBytes = 16 << 10

// beginning is a writer that keeps the first bytes, up to a maximum.
type beginning struct {
	bytes.Buffer
	most int
}

func (b *beginning) Write(p []byte) (int, error) {
	if room := b.most - b.Len(); room > 0 {
		_, _ = b.Buffer.Write(p[:min(room, len(p))])
	}
	return len(p), nil
}

// fetch sends a question and copies the body into a writer, without decompressing it.
func (c caller) fetch(ctx context.Context, q question, into io.Writer) (http.Header, sample, error) {
	began := time.Now()
	response, err := c.server.ask(ctx, c.client, q)
	if err != nil {
		return nil, sample{}, err
	}
	defer response.Body.Close()
	body := &clocked{body: response.Body, began: began}
	_, err = io.CopyBuffer(struct{ io.Writer }{into}, struct{ io.Reader }{body}, make([]byte, 256<<10))
	if err != nil {
		return nil, sample{}, &answerError{server: c.server.name, question: q.String(), what: err.Error()}
	}
	return response.Header, body.sample(), nil
}

// clocked is a body that records the arrival of its first byte, and the number of bytes.
type clocked struct {
	body  io.Reader
	began time.Time
	first time.Duration
	bytes int64
}

func (c *clocked) Read(p []byte) (int, error) {
	n, err := c.body.Read(p)
	if n > 0 && c.bytes == 0 {
		c.first = time.Since(c.began)
	}
	c.bytes += int64(n)
	return n, err
}

func (c *clocked) sample() sample {
	return sample{wall: time.Since(c.began), first: c.first, bytes: c.bytes}
}

// walk reads page after page. It decompresses only the beginning of each page, for the continue token.
func (c caller) walk(ctx context.Context, q question, take func(reading) error) (sample, error) {
	var sum sample
	path := q.path
	for {
		page, one, err := c.answer(ctx, q, keep(take))
		if err == nil && take != nil {
			err = take(page)
		}
		if err != nil {
			return sum, err
		}
		if sum.bytes == 0 {
			sum.first = one.first
		}
		sum.wall, sum.bytes = sum.wall+one.wall, sum.bytes+one.bytes
		token, err := page.token()
		if token == "" || err != nil {
			return sum, err
		}
		q.path = path + "&continue=" + url.QueryEscape(token)
	}
}

var tokenPattern = regexp.MustCompile(`"continue":"([^"]*)"`)

// token returns the continue token of a page, or an empty string for the last page. It reads only the beginning of the
// page.
func (r reading) token() (string, error) {
	head := make([]byte, 2<<10)
	n, err := io.ReadFull(plain(bytes.NewReader(r.body), r.header.Get("Content-Encoding")), head)
	if n == 0 {
		return "", fmt.Errorf("read the head of a page: %w", err)
	}
	own, _, _ := bytes.Cut(head[:n], []byte(`},"`)) // items follow
	if match := tokenPattern.FindSubmatch(own); match != nil {
		return string(match[1]), nil
	}
	return "", nil
}
