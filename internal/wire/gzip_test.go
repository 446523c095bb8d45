package wire

import (
	"bytes"
	"compress/gzip"
	"io"
	"strings"
	"testing"
)

func TestAcceptsGzip(t *testing.T) {
	for header, want := range map[string]bool{
		"gzip": true, " deflate , gzip ": true, "gzip, identity": true, "": false, "identity": false, "*": false,
		"gzip;q=1.0": false, "GZIP": false, "x-gzip": false,
	} {
		if got := AcceptsGzip(header); got != want {
			t.Errorf("%q: got %v, want %v", header, got, want)
		}
	}
}

func TestLargeBodiesAreCompressed(t *testing.T) {
	for _, size := range []int{0, 1, 1000, compressFrom, compressFrom + 1, 1 << 20} {
		for _, pieces := range []int{1, 3, 1000} {
			for accept, allowed := range map[string]bool{"gzip": true, "identity": false} {
				body := strings.Repeat("0123456789", size/10+1)[:size]
				var b bytes.Buffer
				announced := 0
				c := NewBody(&b, BodyOptions{AcceptEncoding: accept, Announce: func() {
					if announced++; b.Len() > 0 {
						t.Error("announced after the first byte")
					}
				}})
				write(t, c, body, pieces)
				compressed := allowed && size > 128*1024
				if got := announced == 1; got != compressed || announced > 1 {
					t.Errorf("%d bytes, %s: announced %d times", size, accept, announced)
				}
				got := b.String()
				if compressed {
					got = gunzip(t, &b)
				}
				if got != body {
					t.Errorf("%d bytes in %d pieces, %s: got %d bytes", size, pieces, accept, len(got))
				}
			}
		}
	}
}

func write(t *testing.T, c *Body, body string, pieces int) {
	t.Helper()
	step := len(body)/pieces + 1
	for len(body) > 0 {
		n, err := c.Write([]byte(body[:min(step, len(body))]))
		if err != nil {
			t.Fatal(err)
		}
		body = body[n:]
	}
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
}

func gunzip(t *testing.T, r io.Reader) string {
	t.Helper()
	z, err := gzip.NewReader(r)
	if err != nil {
		t.Fatal(err)
	}
	b, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestMembers(t *testing.T) {
	var b bytes.Buffer
	want := ""
	for _, text := range []string{"a\n", strings.Repeat("b", 100_000), "c\n"} {
		from := b.Len()
		if err := WriteMember(&b, []byte(text)); err != nil {
			t.Fatal(err)
		}
		if got := gunzip(t, bytes.NewReader(b.Bytes()[from:])); got != text {
			t.Errorf("got %d bytes from a member, want %d", len(got), len(text))
		}
		want += text
	}
	if got := gunzip(t, &b); got != want {
		t.Errorf("got %d bytes from the stream, want %d", len(got), len(want))
	}
}
