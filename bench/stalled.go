package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	h2 "golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
	"k8s.io/client-go/rest"
)

// stalling is a number of callers without permissions, each with the same number of stalled streams.
type stalling struct {
	callers int
	streams uint32
}

func (s stalling) String() string {
	return fmt.Sprintf("%d callers without permissions have %d stalled streams", s.callers, s.callers*int(s.streams))
}

// The benchmark measures kube-apiserver only with noneStall and fewStall. With fewStall, kube-apiserver already stops
// responding to other callers.
var (
	noneStall = stalling{}
	fewStall  = stalling{callers: 10, streams: 50}
	manyStall = stalling{callers: 100, streams: 250}
)

const (
	stalledReads = 1000 // consecutive reads, at most; stalledFor may end them earlier
	stalledFor   = 30 * time.Second
	stalledWait  = 15 * time.Second // timeout of a read
	stalledFrom  = 3 * time.Second  // pause after the last stream was opened; by then the streams have their buffers
)

// measureStalled adds the duration of GETs of one caller, and their status codes. Meanwhile, other callers without any
// permissions request documents and do not read them.
func measureStalled(ctx context.Context, s *stage, t *table) error {
	admin, err := administrator(s.cluster)
	if err != nil {
		return err
	}
	if err := admit(ctx, admin); err != nil {
		return err
	}
	running, err := s.withDefaults(ctx, "--preload", "pods")
	if err != nil {
		return err
	}
	defer running.stop()
	rows := map[stalling][2]string{}
	for i, server := range []*server{s.direct, running.server} {
		for _, stalled := range []stalling{noneStall, fewStall, manyStall} {
			if stalled == manyStall && server == s.direct {
				continue
			}
			text, err := s.readWhileStalled(ctx, server, stalled)
			if err != nil {
				return err
			}
			row := rows[stalled]
			row[i] = text
			rows[stalled] = row
		}
	}
	const what = "GET a pod by another caller: p50 / p90 / p99 / maximum; answers"
	t.add(what, rows[noneStall][0], rows[noneStall][1], "")
	for _, stalled := range []stalling{fewStall, manyStall} {
		t.add("GET a pod by another caller while "+stalled.String(), rows[stalled][0], rows[stalled][1], "")
	}
	return nil
}

// readWhileStalled measures reads while streams are stalled.
func (s *stage) readWhileStalled(ctx context.Context, server *server, stalled stalling) (string, error) {
	if stalled.callers > 0 {
		for i := range stalled.callers {
			conn, err := s.stall(ctx, server, fmt.Sprintf("bench-staller-%d", i), stalled.streams)
			if err != nil {
				return "", err
			}
			defer func() { _ = conn.Close() }() // the measurement no longer needs the connection
		}
		select {
		case <-time.After(stalledFrom):
		case <-ctx.Done():
			return "", ctx.Err()
		}
	}
	user, err := certificate(s.cluster, "bench-beside-stalled", readers)
	if err != nil {
		return "", err
	}
	other, err := server.as(rest.Config{TLSClientConfig: user})
	if err != nil {
		return "", err
	}
	client, err := other.visitor(http2)
	if err != nil {
		return "", err
	}
	defer client.CloseIdleConnections()
	var answers codes
	var taken []time.Duration
	url, late := server.base+podPath(s.options.pods), 0
	for until := time.Now().Add(stalledFor); len(taken) < stalledReads && time.Now().Before(until); {
		began := time.Now()
		status, err := readWithin(ctx, client, url)
		switch {
		case errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil:
			late++
		case err != nil:
			return "", err
		default:
			answers.add(status)
		}
		taken = append(taken, time.Since(began))
	}
	said := []string{percentiles(taken)}
	if text := answers.String(); text != "" {
		said = append(said, text)
	}
	if late > 0 {
		said = append(said, fmt.Sprintf("%d without an answer in %s", late, stalledWait))
	}
	return strings.Join(said, "; "), nil
}

// readWithin reads a response to its end, within stalledWait.
func readWithin(ctx context.Context, client *http.Client, url string) (status int, err error) {
	ctx, cancel := context.WithTimeout(ctx, stalledWait)
	defer cancel()
	response, err := code(ctx, client, url, http.Header{})
	if err != nil {
		return 0, err
	}
	defer response.Body.Close()
	_, err = io.Copy(io.Discard, response.Body)
	return response.StatusCode, err
}

// stall opens a connection as a user, requests a document on many streams, and reads none of the bodies.
func (s *stage) stall(ctx context.Context, server *server, user string, streams uint32) (net.Conn, error) {
	who, err := certificate(s.cluster, user)
	if err != nil {
		return nil, err
	}
	as, err := server.as(rest.Config{TLSClientConfig: who})
	if err != nil {
		return nil, err
	}
	config, err := rest.TLSConfigFor(as.config)
	if err != nil {
		return nil, err
	}
	address, err := url.Parse(server.base)
	if err != nil {
		return nil, err
	}
	config.NextProtos = []string{"h2"}
	conn, err := (&tls.Dialer{Config: config}).DialContext(ctx, "tcp", address.Host)
	if err != nil {
		return nil, fmt.Errorf("connect to %s: %w", address.Host, err)
	}
	if err := askAndTakeNothing(conn, address.Host, streams); err != nil {
		return nil, errors.Join(fmt.Errorf("open stalled streams: %w", err), conn.Close())
	}
	return conn, nil
}

// askAndTakeNothing sends requests on many streams with a flow-control window of 0 for the responses. A goroutine
// discards the other frames of the server until the connection is closed.
func askAndTakeNothing(conn net.Conn, host string, streams uint32) error {
	if _, err := io.WriteString(conn, h2.ClientPreface); err != nil {
		return err
	}
	framer := h2.NewFramer(conn, conn)
	if err := framer.WriteSettings(h2.Setting{ID: h2.SettingInitialWindowSize, Val: 0}); err != nil {
		return err
	}
	var text strings.Builder
	fields := hpack.NewEncoder(&text)
	for i := range streams {
		text.Reset()
		for _, field := range []hpack.HeaderField{
			{Name: ":method", Value: "GET"}, {Name: ":scheme", Value: "https"}, {Name: ":authority", Value: host},
			{Name: ":path", Value: "/openapi/v2"},
			{Name: "user-agent", Value: userAgent},
		} {
			if err := fields.WriteField(field); err != nil {
				return err
			}
		}
		if err := framer.WriteHeaders(h2.HeadersFrameParam{StreamID: 2*i + 1, BlockFragment: []byte(text.String()),
			EndHeaders: true, EndStream: true}); err != nil {
			return err
		}
	}
	go func() { _, _ = io.Copy(io.Discard, conn) }() // ends with the connection
	return nil
}
