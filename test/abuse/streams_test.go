package abuse

import (
	"bytes"
	"net"
	"net/http"
	"sync"
	"testing"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"github.com/listfacade/listfacade/internal/testkit/settings"
)

// frameWriter writes arbitrary HTTP/2 frames.
type frameWriter struct {
	conn   net.Conn
	framer *http2.Framer
}

// speak opens an HTTP/2 connection.
func (v *visitor) speak(t *testing.T, settings ...http2.Setting) *frameWriter {
	t.Helper()
	conn := v.dial(t, "h2")
	say(t, conn, http2.ClientPreface)
	s := &frameWriter{conn: conn, framer: http2.NewFramer(conn, conn)}
	if err := s.framer.WriteSettings(settings...); err != nil {
		t.Fatal(err)
	}
	return s
}

// headers returns the header block of a GET request.
func headers(path string) []byte {
	var block bytes.Buffer
	encoder := hpack.NewEncoder(&block)
	for _, field := range [][2]string{{":method", "GET"}, {":scheme", "https"}, {":authority", "facade"}, {":path", path}} {
		_ = encoder.WriteField(hpack.HeaderField{Name: field[0], Value: field[1]}) // into memory
	}
	return block.Bytes()
}

// ask opens a stream. If whole is set, the request is complete.
func (s *frameWriter) ask(t *testing.T, id uint32, path string, whole bool) {
	t.Helper()
	if err := s.request(id, path, whole); err != nil {
		t.Fatal(err)
	}
}

func (s *frameWriter) request(id uint32, path string, whole bool) error {
	return s.framer.WriteHeaders(http2.HeadersFrameParam{StreamID: id, BlockFragment: headers(path), EndStream: true, EndHeaders: whole})
}

// listen reads until the connection is closed.
func (s *frameWriter) listen() error { return gone(s.conn) }

// Time limits of floods. If the attacker does not read, writes block when the socket buffers are full.
const (
	deafPatience = 5 * time.Second
	patience     = 2 * time.Minute
)

// flood writes n frames, or until a write fails or the time limit ends.
func (s *frameWriter) flood(n int, within time.Duration, one func(i int) error) {
	_ = s.conn.SetWriteDeadline(time.Now().Add(within))
	for i := range n {
		if one(i) != nil {
			return
		}
	}
}

// A client that floods frames is disconnected, or answered as fast as it reads. Others are served, and nothing remains.
func TestHTTP2FrameFloodsDoNotAffectOthers(t *testing.T) {
	settings.Long(t)
	s := newSite(t)
	other, flooder := s.reader(t, "other"), s.reader(t, "flooder")
	anonymous := &visitor{config: s.facade.Config}
	list := s.configMaps()
	for name, c := range map[string]struct {
		who    *visitor
		frames int
		deaf   bool // the attacker does not read
		cut    bool // the facade must disconnect the attacker
		one    func(s *frameWriter, i int) error
	}{
		"canceled requests": {who: flooder, frames: 5_000, one: takeBack(list)},
		"anonymous":         {who: anonymous, frames: 5_000, cut: true, one: takeBack(list)},
		"headers without end": {who: flooder, frames: 100_000, cut: true, one: func(s *frameWriter, i int) error {
			if i == 0 {
				return s.request(1, list, false)
			}
			return s.framer.WriteContinuation(1, false, bytes.Repeat([]byte{0x82}, 1000)) // a thousand fields
		}},
		"acknowledged settings": {who: flooder, frames: 20_000, one: func(s *frameWriter, _ int) error { return s.framer.WriteSettings() }},
		"settings":              {who: flooder, frames: 50_000, deaf: true, one: func(s *frameWriter, _ int) error { return s.framer.WriteSettings() }},
		"pings":                 {who: flooder, frames: 50_000, deaf: true, one: func(s *frameWriter, _ int) error { return s.framer.WritePing(false, [8]byte{}) }},
		"empty window updates": {who: flooder, frames: 100_000, cut: true, one: func(s *frameWriter, _ int) error {
			return s.framer.WriteRawFrame(http2.FrameWindowUpdate, 0, 0, make([]byte, 4))
		}},
	} {
		t.Run(name, func(t *testing.T) {
			handlers, connections := requests(), served()
			attacker := c.who.speak(t)
			var attack sync.WaitGroup
			if !c.deaf {
				attack.Go(func() {
					if err := attacker.listen(); err != nil {
						t.Error(err)
					}
				})
			}
			within := patience
			if c.deaf {
				within = deafPatience
			}
			attack.Go(func() {
				attacker.flood(c.frames, within, func(i int) error { return c.one(attacker, i) })
				if !c.cut {
					_ = attacker.conn.Close()
				}
			})
			for range 5 {
				other.served(t, list)
			}
			attack.Wait()
			calm(t, handlers, connections)
			if got := flooder.get(t, list); got.code != http.StatusOK {
				t.Errorf("the flooder afterwards: got %d, want 200: %s", got.code, got.body)
			}
		})
	}
}

// takeBack sends a request and immediately resets the stream.
func takeBack(path string) func(*frameWriter, int) error {
	return func(s *frameWriter, i int) error {
		id := uint32(2*i + 1)
		if err := s.request(id, path, true); err != nil {
			return err
		}
		return s.framer.WriteRSTStream(id, http2.ErrCodeCancel)
	}
}
