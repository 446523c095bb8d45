package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/klauspost/compress/gzip"
)

// syncedMark is part of the bookmark that ends the initial events of a streaming list.
const syncedMark = `"k8s.io/initial-events-end":"true"`

// stream opens a streaming list and reads to the end of its initial events. It decompresses the body to find that end,
// but decodes no objects.
func (c caller) stream(ctx context.Context, q question, take func(reading) error) (sample, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel() // otherwise the watch would stay open
	var raw bytes.Buffer
	began := time.Now()
	response, err := c.server.ask(ctx, c.client, q)
	if err != nil {
		return sample{}, err
	}
	defer response.Body.Close()
	body := &clocked{body: response.Body, began: began}
	from := io.Reader(body)
	if take != nil {
		from = io.TeeReader(body, &raw)
	}
	if err := untilSynced(plain(from, response.Header.Get("Content-Encoding")), io.Discard); err != nil {
		return sample{}, &answerError{server: c.server.name, question: q.String(), what: err.Error()}
	}
	one := body.sample()
	if take != nil {
		err = take(reading{header: response.Header, body: raw.Bytes()})
	}
	return one, err
}

// plain returns a reader of the decompressed body.
func plain(from io.Reader, encoding string) io.Reader {
	if encoding != "gzip" {
		return from
	}
	return &members{from: bufio.NewReaderSize(from, 64<<10)}
}

// untilSynced copies frames up to the end of the bookmark that ends the initial events.
func untilSynced(from io.Reader, into io.Writer) error {
	var tail []byte
	chunk := make([]byte, 256<<10)
	for {
		n, err := from.Read(chunk)
		if n > 0 {
			if _, err := into.Write(chunk[:n]); err != nil {
				return err
			}
			tail = append(tail, chunk[:n]...)
			if bytes.HasSuffix(tail, []byte("\n")) && bytes.Contains(tail, []byte(syncedMark)) {
				return nil
			}
			tail = append(tail[:0], tail[max(0, len(tail)-bookmarkBytes):]...)
		}
		if err != nil {
			return fmt.Errorf("stream ended before its initial events: %w", err)
		}
	}
}

// bookmarkBytes is above the length of the bookmark that ends the initial events.
const bookmarkBytes = 4 << 10

// members decompresses one gzip member after the other. Unlike gzip.Reader, it returns the last bytes of a member
// without waiting for the next member.
type members struct {
	from  *bufio.Reader
	unzip *gzip.Reader
	open  bool
}

func (m *members) Read(p []byte) (int, error) {
	if !m.open {
		if err := m.next(); err != nil {
			return 0, err
		}
	}
	n, err := m.unzip.Read(p)
	if errors.Is(err, io.EOF) {
		m.open, err = false, nil
	}
	return n, err
}

func (m *members) next() (err error) {
	if m.unzip == nil {
		m.unzip, err = gzip.NewReader(m.from)
	} else {
		err = m.unzip.Reset(m.from)
	}
	if err == nil {
		m.unzip.Multistream(false)
		m.open = true
	}
	return err
}
