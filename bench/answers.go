package main

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"net/http"
	"regexp"
)

// answerTries is how often two answers may differ. Nothing is written meanwhile, but a printed age may tick between
// them: of 20,000 pods that are some days old one does every four seconds.
const answerTries = 10

// sameAnswer asks both and fails unless they said the same, to the byte.
func sameAnswer(ctx context.Context, servers pair, q question) error {
	var difference error
	for range answerTries {
		want, err := servers.direct.read(ctx, q)
		if err != nil {
			return err
		}
		got, err := servers.facade.read(ctx, q)
		if err != nil {
			return err
		}
		if difference = differ(want, got); difference == nil {
			return nil
		}
	}
	return &answerError{server: servers.facade.name, question: q.String(), what: difference.Error()}
}

// reading is an answer that was read as a whole.
type reading struct {
	header http.Header
	body   []byte // decompressed
}

func (s *server) read(ctx context.Context, q question) (reading, error) {
	var b bytes.Buffer
	header, _, err := s.get(ctx, q, &b)
	if err != nil {
		return reading{}, err
	}
	return s.unpack(q, header, &b)
}

// unpack decompresses a body if it is compressed.
func (s *server) unpack(q question, header http.Header, b *bytes.Buffer) (reading, error) {
	if header.Get("Content-Encoding") != "gzip" {
		return reading{header: header, body: b.Bytes()}, nil
	}
	unzip, err := gzip.NewReader(b)
	if err != nil {
		return reading{}, fmt.Errorf("%s: %s: %w", s.name, q, err)
	}
	body, err := io.ReadAll(unzip)
	if err != nil {
		return reading{}, fmt.Errorf("%s: %s: %w", s.name, q, err)
	}
	return reading{header: header, body: body}, nil
}

// differ says how two answers differ; nil if in nothing that matters.
func differ(want, got reading) error {
	for _, name := range []string{"Content-Type", "Content-Encoding"} {
		if w, g := want.header.Get(name), got.header.Get(name); w != g {
			return fmt.Errorf("%s is %q, not %q", name, g, w)
		}
	}
	wantHead, wantItems := cutHead(want.body)
	gotHead, gotItems := cutHead(got.body)
	if !bytes.Equal(wantHead, gotHead) {
		return fmt.Errorf("begins %q, not %q", gotHead, wantHead)
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

// around shows where two texts part.
func around(want, got []byte) string {
	at := 0
	for at < len(want) && at < len(got) && want[at] == got[at] {
		at++
	}
	near := func(b []byte) []byte { return b[max(0, min(at-80, len(b))):min(len(b), at+80)] }
	return fmt.Sprintf("byte %d of %d: %q, not %q", at, len(want), near(got), near(want))
}
