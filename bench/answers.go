package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"regexp"
)

// reading is an answer that was read as a whole.
type reading struct {
	header http.Header
	body   []byte // decompressed
}

// read asks and reads the answer as a whole.
func (s *server) read(ctx context.Context, q question) (reading, error) {
	var b bytes.Buffer
	header, err := s.get(ctx, q, &b)
	if err != nil {
		return reading{}, err
	}
	a, err := reading{header: header, body: b.Bytes()}.unpack()
	if err != nil {
		return reading{}, fmt.Errorf("%s: %s: %w", s.name, q, err)
	}
	return a, nil
}

// unpack decompresses a body if it is compressed. A stream ends where it was left off, within a member or behind one.
func (r reading) unpack() (reading, error) {
	encoding := r.header.Get("Content-Encoding")
	if encoding == "" {
		return r, nil
	}
	var body bytes.Buffer
	_, err := io.Copy(&body, plain(bytes.NewReader(r.body), encoding))
	if errors.Is(err, io.ErrUnexpectedEOF) && bytes.Contains(last(body.Bytes()), []byte(syncedMark)) {
		err = nil
	}
	if err != nil {
		return r, fmt.Errorf("decompress: %w", err)
	}
	return reading{header: r.header, body: body.Bytes()}, nil
}

// differ says how two answers differ; nil if in nothing that matters.
func differ(want, got reading) error {
	for _, name := range []string{"Content-Type", "Content-Encoding"} {
		if w, g := want.header.Get(name), got.header.Get(name); w != g {
			return fmt.Errorf("%s is %q, not %q", name, g, w)
		}
	}
	cut := cutHead
	switch {
	case bytes.HasPrefix(want.body, []byte(protobufMagic)):
		cut = cutProtobuf
	case bytes.Contains(last(want.body), []byte(syncedMark)):
		cut = cutBookmark
	}
	wantHead, wantItems := cut(want.body)
	gotHead, gotItems := cut(got.body)
	if !bytes.Equal(wantHead, gotHead) {
		return fmt.Errorf("the list is %q, not %q", gotHead, wantHead)
	}
	if !bytes.Equal(wantItems, gotItems) {
		return fmt.Errorf("the items differ at %s", around(wantItems, gotItems))
	}
	return nil
}

// ownValues are what two servers with the same objects may say differently about a list: how far their caches are, and
// where the next page begins, which holds the former.
var ownValues = regexp.MustCompile(`("(?:resourceVersion|continue)":")[^"]*`)

// cutHead splits a list behind its own metadata, which is masked.
func cutHead(body []byte) (head, items []byte) {
	end := bytes.Index(body[:min(len(body), 64<<10)], []byte(`},"`))
	if end < 0 {
		return nil, body
	}
	return ownValues.ReplaceAll(body[:end], []byte("${1}N")), body[end:]
}

// cutBookmark splits a streaming list before the bookmark that ends it, in which the list's own version is masked.
func cutBookmark(body []byte) (bookmark, events []byte) {
	at := len(body) - len(last(body))
	return ownValues.ReplaceAll(body[at:], []byte("${1}N")), body[:at]
}

// last is the last line of a text, with its end.
func last(text []byte) []byte {
	return text[bytes.LastIndexByte(bytes.TrimSuffix(text, []byte("\n")), '\n')+1:]
}

// around shows where two texts part.
func around(want, got []byte) string {
	at := 0
	for at < len(want) && at < len(got) && want[at] == got[at] {
		at++
	}
	near := func(b []byte) []byte { return b[max(0, min(at-80, len(b))):min(len(b), at+80)] }
	return fmt.Sprintf("byte %d of %d: %q, not %q", at, len(want), near(got), near(want))
}
