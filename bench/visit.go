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

// caller is a client with connections of its own.
type caller struct {
	server *server
	client *http.Client
}

// callers makes clients whose connections are open.
func (s *server) callers(ctx context.Context, n int, p protocol) ([]caller, error) {
	var all []caller
	for range n {
		client, err := s.visitor(p)
		if err != nil {
			return nil, err
		}
		c := caller{server: s, client: client}
		all = append(all, c)
		if _, _, err := c.fetch(ctx, question{path: files.Ping, accept: "*/*", encoding: "identity", protocol: p}, io.Discard); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// dismiss closes the connections of clients.
func dismiss(callers []caller) {
	for _, c := range callers {
		utilnet.CloseIdleConnectionsFor(c.client.Transport)
	}
}

// visit is what a client of kube-apiserver or the facade does.
func (l load) visit() visit {
	return func(ctx context.Context, c caller) (sample, error) {
		return l.ask(ctx, c, nil)
	}
}

// ask asks to the end. Every answer is handed to take, if there is one, as it was sent; otherwise nothing of it is kept
// but what is needed to go on.
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

// keep is how much is kept of an answer: everything if somebody takes it.
func keep(take func(reading) error) int {
	if take == nil {
		return headBytes
	}
	return math.MaxInt
}

// answer reads one answer, of which it keeps the beginning.
func (c caller) answer(ctx context.Context, q question, most int) (reading, sample, error) {
	kept := &beginning{most: most}
	header, one, err := c.fetch(ctx, q, kept)
	return reading{header: header, body: kept.Bytes()}, one, err
}

// headBytes of a body, compressed or not, have the list's own metadata in them.
const headBytes = 16 << 10

// beginning keeps so many bytes of what is written to it.
type beginning struct {
	bytes.Buffer
	most int
}

// Write implements io.Writer.
func (b *beginning) Write(p []byte) (int, error) {
	if room := b.most - b.Len(); room > 0 {
		_, _ = b.Buffer.Write(p[:min(room, len(p))])
	}
	return len(p), nil
}

// fetch asks and copies the body, compressed if it is, into a writer.
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

// clocked is a body that notes when its first byte came, and how many there were.
type clocked struct {
	body  io.Reader
	began time.Time
	first time.Duration
	bytes int64
}

// Read implements io.Reader.
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

// walk asks for page after page. Of each, only the beginning is decompressed, for the next page's token.
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

// token finds where the next page begins, in a page that may be cut off.
func (r reading) token() (string, error) {
	head := make([]byte, 2<<10)
	n, err := io.ReadFull(plain(bytes.NewReader(r.body), r.header.Get("Content-Encoding")), head)
	if n == 0 {
		return "", fmt.Errorf("read the beginning of a page: %w", err)
	}
	own, _, _ := bytes.Cut(head[:n], []byte(`},"`)) // what follows are items
	if match := tokenPattern.FindSubmatch(own); match != nil {
		return string(match[1]), nil
	}
	return "", nil
}
