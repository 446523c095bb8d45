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

// speaker writes frames of HTTP/2 as it likes.
type speaker struct {
	conn   net.Conn
	framer *http2.Framer
}

// speak greets the facade.
func (v *visitor) speak(t *testing.T, settings ...http2.Setting) *speaker {
	t.Helper()
	conn := v.dial(t, "h2")
	say(t, conn, http2.ClientPreface)
	s := &speaker{conn: conn, framer: http2.NewFramer(conn, conn)}
	if err := s.framer.WriteSettings(settings...); err != nil {
		t.Fatal(err)
	}
	return s
}

// headers are a request's.
func headers(path string) []byte {
	var block bytes.Buffer
	encoder := hpack.NewEncoder(&block)
	for _, field := range [][2]string{{":method", "GET"}, {":scheme", "https"}, {":authority", "facade"}, {":path", path}} {
		_ = encoder.WriteField(hpack.HeaderField{Name: field[0], Value: field[1]}) // into memory
	}
	return block.Bytes()
}

// ask opens a stream; with whole, the request is complete.
func (s *speaker) ask(t *testing.T, id uint32, path string, whole bool) {
	t.Helper()
	if err := s.request(id, path, whole); err != nil {
		t.Fatal(err)
	}
}

func (s *speaker) request(id uint32, path string, whole bool) error {
	return s.framer.WriteHeaders(http2.HeadersFrameParam{StreamID: id, BlockFragment: headers(path), EndStream: true, EndHeaders: whole})
}

// listen reads whatever comes until the connection is closed.
func (s *speaker) listen() error { return gone(s.conn) }

// How long a flood may take: of who does not read, the system takes no more at some time.
const (
	deafPatience = 5 * time.Second
	patience     = 2 * time.Minute
)

// flood writes until that fails or all is written, or it has taken too long.
func (s *speaker) flood(n int, within time.Duration, one func(i int) error) {
	_ = s.conn.SetWriteDeadline(time.Now().Add(within))
	for i := range n {
		if one(i) != nil {
			return
		}
	}
}

// Who abuses HTTP/2 is cut off, or is answered as fast as it reads; nothing is left of it, and others are served.
func Test32FloodsOfFrames(t *testing.T) {
	settings.Long(t)
	s := newSite(t)
	other, flooder := s.reader(t, "other"), s.reader(t, "flooder")
	nobody := &visitor{config: s.facade.Config}
	list := s.configMaps()
	for name, c := range map[string]struct {
		who    *visitor
		frames int
		deaf   bool // it does not read
		cut    bool // it must be cut off by the facade
		one    func(s *speaker, i int) error
	}{
		"requests that are taken back": {who: flooder, frames: 5_000, one: takeBack(list)},
		"by nobody":                    {who: nobody, frames: 5_000, cut: true, one: takeBack(list)},
		"headers without end": {who: flooder, frames: 100_000, cut: true, one: func(s *speaker, i int) error {
			if i == 0 {
				return s.request(1, list, false)
			}
			return s.framer.WriteContinuation(1, false, bytes.Repeat([]byte{0x82}, 1000)) // a thousand fields
		}},
		"settings that are answered": {who: flooder, frames: 20_000, one: func(s *speaker, _ int) error { return s.framer.WriteSettings() }},
		"settings":                   {who: flooder, frames: 50_000, deaf: true, one: func(s *speaker, _ int) error { return s.framer.WriteSettings() }},
		"pings":                      {who: flooder, frames: 50_000, deaf: true, one: func(s *speaker, _ int) error { return s.framer.WritePing(false, [8]byte{}) }},
		"windows of nothing": {who: flooder, frames: 100_000, cut: true, one: func(s *speaker, _ int) error {
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
				t.Errorf("the flooder is served %d afterwards: %s", got.code, got.body)
			}
		})
	}
}

// takeBack asks and resets the stream at once.
func takeBack(path string) func(*speaker, int) error {
	return func(s *speaker, i int) error {
		id := uint32(2*i + 1)
		if err := s.request(id, path, true); err != nil {
			return err
		}
		return s.framer.WriteRSTStream(id, http2.ErrCodeCancel)
	}
}
