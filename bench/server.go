package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"

	"k8s.io/client-go/rest"

	"github.com/listfacade/listfacade/bench/internal/agents"
	"github.com/listfacade/listfacade/bench/internal/proc"
)

// userAgent differs from that of curl, for which kube-apiserver indents JSON. Indentation doubles the size of a list.
const userAgent = "listfacade-bench"

// protocol is the HTTP version of a question, in the form of http.Response.Proto.
type protocol string

const (
	http1 protocol = "HTTP/1.1"
	http2 protocol = "HTTP/2.0"
)

// server is one of the compared servers: its process, and clients for it.
type server struct {
	name    string
	process proc.Process
	base    string
	config  *rest.Config
	clients map[protocol]*http.Client
}

// newServer returns a server with one client for each version of HTTP. The clients use client-go's transport.
func newServer(name string, process proc.Process, config *rest.Config) (*server, error) {
	s := &server{
		name: name, process: process, base: strings.TrimSuffix(config.Host, "/"), config: config,
		clients: map[protocol]*http.Client{},
	}
	for version, offer := range map[protocol][]string{http1: {"http/1.1"}, http2: nil} {
		c := rest.CopyConfig(config)
		c.NextProtos = offer
		c.UserAgent = userAgent
		c.DisableCompression = true // each question sets Accept-Encoding itself, and bytes are counted as received
		client, err := rest.HTTPClientFor(c)
		if err != nil {
			return nil, fmt.Errorf("prepare a client of %s: %w", name, err)
		}
		s.clients[version] = client
	}
	return s, nil
}

// visitor returns a client with its own connections.
func (s *server) visitor(p protocol) (*http.Client, error) {
	tls, err := rest.TLSConfigFor(s.config)
	if err != nil {
		return nil, fmt.Errorf("prepare a client of %s: %w", s.name, err)
	}
	versions := new(http.Protocols)
	versions.SetHTTP1(p == http1)
	versions.SetHTTP2(p == http2)
	// The wrappers add credentials other than a client certificate.
	wrapped, err := rest.HTTPWrappersForConfig(s.config,
		&http.Transport{TLSClientConfig: tls, Protocols: versions, DisableCompression: true})
	if err != nil {
		return nil, fmt.Errorf("prepare a client of %s: %w", s.name, err)
	}
	return &http.Client{Transport: wrapped}, nil
}

// fleet returns clients that are not connected yet. They use only the credentials in c, not those of s.
func (s *server) fleet(c agents.Config) (*agents.Fleet, error) {
	config := rest.AnonymousClientConfig(s.config)
	tls, err := rest.TLSConfigFor(config)
	if err != nil {
		return nil, fmt.Errorf("prepare clients of %s: %w", s.name, err)
	}
	c.TLS, c.Address = tls, strings.TrimPrefix(s.base, "https://")
	return agents.New(c), nil
}

// question is one read request.
type question struct {
	name     string // for messages; empty: derived from the other fields
	path     string // with the query
	accept   string // media type; JSON when empty
	encoding string // Accept-Encoding
	protocol protocol
}

// String describes the question for messages and rows of tables.
func (q question) String() string {
	name := q.name
	if name == "" {
		name = strings.TrimSuffix(q.path+" as "+q.accept, " as ")
	}
	return fmt.Sprintf("%s, %s, %s", name, q.encoding, q.protocol)
}

// answerError reports a wrong or failed response.
type answerError struct {
	server, question, what string
	code                   int // HTTP status; 0 for other errors
}

func (e *answerError) Error() string { return fmt.Sprintf("%s: %s: %s", e.server, e.question, e.what) }

// open sends a question and returns the response after its header. The caller closes the body.
func (s *server) open(ctx context.Context, q question) (*http.Response, error) {
	return s.ask(ctx, s.clients[q.protocol], q)
}

// ask is like open, with a given client.
func (s *server) ask(ctx context.Context, client *http.Client, q question) (*http.Response, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, s.base+q.path, nil)
	if err != nil {
		return nil, err
	}
	request.Header.Set("Accept-Encoding", q.encoding)
	request.Header.Set("User-Agent", userAgent)
	request.Header.Set("Accept", jsonType)
	if q.accept != "" {
		request.Header.Set("Accept", q.accept)
	}
	response, err := client.Do(request)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", s.name, err)
	}
	if response.StatusCode != http.StatusOK || response.Proto != string(q.protocol) {
		defer response.Body.Close()
		text, _ := io.ReadAll(io.LimitReader(response.Body, 500)) // the beginning of an explanation
		return nil, &answerError{
			server: s.name, question: q.String(), what: fmt.Sprintf("%s %s: %s", response.Proto, response.Status, text),
			code: response.StatusCode,
		}
	}
	return response, nil
}

// get sends a question and copies the body into a writer, without decompressing it.
func (s *server) get(ctx context.Context, q question, into io.Writer) (http.Header, error) {
	response, err := s.open(ctx, q)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	if _, err = io.CopyBuffer(struct{ io.Writer }{into}, response.Body, make([]byte, 1<<20)); err != nil {
		return nil, fmt.Errorf("%s: %s: %w", s.name, q, err)
	}
	return response.Header, nil
}
