package wire

import (
	"encoding/binary"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
)

func TestLines(t *testing.T) {
	long := strings.Repeat("x", 200<<10)
	input := "a\n\n \r\n" + long + "\nb\r\n" + long + "y\n"
	for name, source := range map[string]io.Reader{
		"at once": strings.NewReader(input), "by halves": iotest.HalfReader(strings.NewReader(input)),
		"with the end": iotest.DataErrReader(strings.NewReader(input)), "by bytes": iotest.OneByteReader(strings.NewReader(input)),
	} {
		r := Lines{}.Reader(source, 1<<20)
		for _, want := range []string{"a", long, "b", long + "y"} {
			if got, err := r.Next(); err != nil || string(got) != want {
				t.Errorf("%s: got %d bytes, %v; want %d", name, len(got), err, len(want))
			}
		}
		if _, err := r.Next(); !errors.Is(err, io.EOF) {
			t.Errorf("%s: the end is %v", name, err)
		}
	}
}

func TestLinesErrors(t *testing.T) {
	if _, err := (Lines{}).Reader(strings.NewReader(`{"type":`), 100).Next(); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("a cut frame: %v", err)
	}
	broken := errors.New("broken")
	if _, err := (Lines{}).Reader(io.MultiReader(strings.NewReader("{"), iotest.ErrReader(broken)), 100).Next(); !errors.Is(err, broken) {
		t.Errorf("a broken connection: %v", err)
	}
	for _, size := range []int{1000, 100_000, 500_000} {
		for limit, fits := range map[int]bool{size: true, size - 1: false} {
			line, err := Lines{}.Reader(strings.NewReader(strings.Repeat("x", size)+"\n"), limit).Next()
			var large *FrameTooLargeError
			if fits && (err != nil || len(line) != size) || !fits && (!errors.As(err, &large) || large.Limit != limit) {
				t.Errorf("%d bytes, limit %d: got %d bytes, %v", size, limit, len(line), err)
			}
		}
	}
	endless := Lines{}.Reader(iotest.OneByteReader(zeros{}), 1<<17)
	var large *FrameTooLargeError
	if _, err := endless.Next(); !errors.As(err, &large) || cap(endless.(*lineReader).long) > 1<<20 {
		t.Errorf("an endless frame: %v, %d bytes held", err, cap(endless.(*lineReader).long))
	}
}

// zeros never ends.
type zeros struct{}

func (zeros) Read(p []byte) (int, error) { clear(p); return len(p), nil }

// prefixed are frames as they stand in a stream of protobuf.
func prefixed(frames ...string) string {
	var b []byte
	for _, frame := range frames {
		b = append(binary.BigEndian.AppendUint32(b, uint32(len(frame))), frame...)
	}
	return string(b)
}

func TestPrefixed(t *testing.T) {
	long := strings.Repeat("x", 200<<10)
	r := Prefixed{}.Reader(iotest.HalfReader(strings.NewReader(prefixed("a", "", long))), len(long))
	for _, want := range []string{"a", "", long} {
		if got, err := r.Next(); err != nil || string(got) != want {
			t.Errorf("got %d bytes, %v; want %d", len(got), err, len(want))
		}
	}
	if _, err := r.Next(); !errors.Is(err, io.EOF) {
		t.Errorf("the end is %v", err)
	}
	for _, cut := range []int{1, 4, 5} {
		if _, err := (Prefixed{}).Reader(strings.NewReader(prefixed("abc")[:cut]), 3).Next(); !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("a frame that breaks off after %d bytes: %v", cut, err)
		}
	}
	var large *FrameTooLargeError
	if _, err := (Prefixed{}).Reader(strings.NewReader(prefixed("abc")), 2).Next(); !errors.As(err, &large) || large.Limit != 2 {
		t.Errorf("a frame above the limit: %v", err)
	}
	lie := Prefixed{}.Reader(strings.NewReader("\x04\x00\x00\x00abc"), FrameLimit)
	if _, err := lie.Next(); !errors.Is(err, io.ErrUnexpectedEOF) || lie.(*prefixReader).frame.Cap() > 1<<20 {
		t.Errorf("64 MiB that do not come: %v, %d bytes held", err, lie.(*prefixReader).frame.Cap())
	}
}

func TestMessages(t *testing.T) {
	for name, test := range map[string]struct {
		framing Framing
		frames  string
		want    []string
		one     string
	}{
		"lines":    {Lines{}, "{1}\n{2}\n", []string{"{1}\n", "{2}\n"}, "f\n"},
		"prefixed": {Prefixed{}, prefixed("a", "bc"), []string{"a", "bc"}, "f"},
	} {
		var got []string
		for message := range test.framing.Messages([]byte(test.frames)) {
			got = append(got, textOf(t, name, message))
		}
		if !slices.Equal(got, test.want) {
			t.Errorf("%s: got %q, want %q", name, got, test.want)
		}
		if got := textOf(t, name, test.framing.Message([]byte("f"))); got != test.one {
			t.Errorf("%s: one is %q, want %q", name, got, test.one)
		}
	}
}

// textOf is a message's content; lines are text, and nothing else is.
func textOf(t *testing.T, framing string, message any) string {
	t.Helper()
	text, isText := message.(string)
	if isText != (framing == "lines") {
		t.Errorf("%s: a message of type %T", framing, message)
	}
	if isText {
		return text
	}
	return string(message.([]byte))
}
