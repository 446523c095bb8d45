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
		"in one read": strings.NewReader(input), "by halves": iotest.HalfReader(strings.NewReader(input)),
		"with the end": iotest.DataErrReader(strings.NewReader(input)), "by bytes": iotest.OneByteReader(strings.NewReader(input)),
	} {
		r := Lines{}.Reader(source, 1<<20)
		for _, want := range []string{"a", long, "b", long + "y"} {
			if got, err := r.Next(); err != nil || string(got) != want {
				t.Errorf("%s: got %d bytes, %v; want %d", name, len(got), err, len(want))
			}
		}
		if _, err := r.Next(); !errors.Is(err, io.EOF) {
			t.Errorf("%s: got %v, want io.EOF", name, err)
		}
	}
}

func TestLinesErrors(t *testing.T) {
	if _, err := (Lines{}).Reader(strings.NewReader(`{"type":`), 100).Next(); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("incomplete frame: got %v, want io.ErrUnexpectedEOF", err)
	}
	broken := errors.New("broken")
	if _, err := (Lines{}).Reader(io.MultiReader(strings.NewReader("{"), iotest.ErrReader(broken)), 100).Next(); !errors.Is(err, broken) {
		t.Errorf("broken connection: got %v, want %v", err, broken)
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
		t.Errorf("endless frame: got %v with a buffer of %d bytes", err, cap(endless.(*lineReader).long))
	}
}

// zeros is an endless stream.
type zeros struct{}

func (zeros) Read(p []byte) (int, error) { clear(p); return len(p), nil }

// prefixed returns frames with their length prefixes.
func prefixed(frames ...string) string {
	var b []byte
	for _, frame := range frames {
		b = append(binary.BigEndian.AppendUint32(b, uint32(len(frame))), frame...)
	}
	return string(b)
}

func TestPrefixed(t *testing.T) {
	long, fits := strings.Repeat("x", 200<<10), strings.Repeat("y", prefixReadBytes)
	input := prefixed("a", "", long, fits, "b", fits+"z", "c")
	for name, source := range map[string]io.Reader{
		"in one read": strings.NewReader(input), "by halves": iotest.HalfReader(strings.NewReader(input)),
		"with the end": iotest.DataErrReader(strings.NewReader(input)), "by bytes": iotest.OneByteReader(strings.NewReader(input)),
	} {
		r := Prefixed{}.Reader(source, len(long))
		for _, want := range []string{"a", "", long, fits, "b", fits + "z", "c"} {
			if got, err := r.Next(); err != nil || string(got) != want {
				t.Errorf("%s: got %d bytes, %v; want %d", name, len(got), err, len(want))
			}
		}
		if _, err := r.Next(); !errors.Is(err, io.EOF) {
			t.Errorf("%s: got %v, want io.EOF", name, err)
		}
	}
	for _, cut := range []int{1, 4, 5} {
		if _, err := (Prefixed{}).Reader(strings.NewReader(prefixed("abc")[:cut]), 3).Next(); !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("frame that ends after %d bytes: got %v, want io.ErrUnexpectedEOF", cut, err)
		}
	}
	var large *FrameTooLargeError
	if _, err := (Prefixed{}).Reader(strings.NewReader(prefixed("abc")), 2).Next(); !errors.As(err, &large) || large.Limit != 2 {
		t.Errorf("frame above the limit: got %v, want a FrameTooLargeError", err)
	}
	short := Prefixed{}.Reader(strings.NewReader("\x04\x00\x00\x00abc"), FrameLimit)
	if _, err := short.Next(); !errors.Is(err, io.ErrUnexpectedEOF) || short.(*prefixReader).long.Cap() > 1<<20 {
		t.Errorf("stream shorter than its prefix: got %v with a buffer of %d bytes", err, short.(*prefixReader).long.Cap())
	}
}

// counted counts reads. Each returns at most one frame, like the DATA frames of HTTP/2.
type counted struct {
	frames []string
	reads  int
}

// Read implements io.Reader.
func (c *counted) Read(p []byte) (int, error) {
	if len(c.frames) == 0 {
		return 0, io.EOF
	}
	c.reads++
	n := copy(p, c.frames[0])
	if c.frames[0] = c.frames[0][n:]; c.frames[0] == "" {
		c.frames = c.frames[1:]
	}
	return n, nil
}

// HTTP/2 sends WINDOW_UPDATE frames for each read, so an event of a pod must not take several.
func TestFrameOfPodTakesOneReadWithoutAllocations(t *testing.T) {
	const frames = 100
	pod := prefixed(strings.Repeat("x", 11_300))
	source := &counted{frames: slices.Repeat([]string{pod}, frames)}
	r := Prefixed{}.Reader(source, FrameLimit)
	allocations := testing.AllocsPerRun(frames-1, func() { // and once before
		if got, err := r.Next(); err != nil || len(got) != len(pod)-4 {
			t.Fatalf("got %d bytes, %v; want %d", len(got), err, len(pod)-4)
		}
	})
	if source.reads != frames || allocations != 0 {
		t.Errorf("got %d reads and %v allocations each for %d frames, want one and none", source.reads, allocations, frames)
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
			t.Errorf("%s: one message is %q, want %q", name, got, test.one)
		}
	}
}

// textOf returns the content of a message, and checks that only lines are sent as text.
func textOf(t *testing.T, framing string, message any) string {
	t.Helper()
	text, isText := message.(string)
	if isText != (framing == "lines") {
		t.Errorf("%s: got a message of type %T", framing, message)
	}
	if isText {
		return text
	}
	return string(message.([]byte))
}
