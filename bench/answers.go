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

// reading is a complete response.
type reading struct {
	header http.Header
	body   []byte // decompressed
}

// read sends a question and reads the complete response.
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

// unpack decompresses the body if it is compressed. The reader of a stream stops at the bookmark that ends the initial
// events, so the body may end in the middle of a gzip member.
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

// differ returns an error that describes how two responses differ. It ignores ownValues, and returns nil for equal
// responses.
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

// ownValues matches the values of a list that may differ between two servers with the same objects: the resourceVersion
// of the cache, and the continue token, which contains that version.
var ownValues = regexp.MustCompile(`("(?:resourceVersion|continue)":")[^"]*`)

// cutHead splits a list after its own metadata, and masks ownValues in the head.
func cutHead(body []byte) (head, items []byte) {
	end := bytes.Index(body[:min(len(body), 64<<10)], []byte(`},"`))
	if end < 0 {
		return nil, body
	}
	return ownValues.ReplaceAll(body[:end], []byte("${1}N")), body[end:]
}

// cutBookmark splits a streaming list before its final bookmark, and masks ownValues in the bookmark.
func cutBookmark(body []byte) (bookmark, events []byte) {
	at := len(body) - len(last(body))
	return ownValues.ReplaceAll(body[at:], []byte("${1}N")), body[:at]
}

// last returns the last line of a text, with its newline.
func last(text []byte) []byte {
	return text[bytes.LastIndexByte(bytes.TrimSuffix(text, []byte("\n")), '\n')+1:]
}

// around shows the first difference of two texts with its surroundings.
func around(want, got []byte) string {
	at := 0
	for at < len(want) && at < len(got) && want[at] == got[at] {
		at++
	}
	near := func(b []byte) []byte { return b[max(0, min(at-80, len(b))):min(len(b), at+80)] }
	return fmt.Sprintf("byte %d of %d: %q, not %q", at, len(want), near(got), near(want))
}
