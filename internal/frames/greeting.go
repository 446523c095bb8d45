package frames

import (
	"encoding/binary"
	"io"
)

const (
	// preface is the length in bytes of the client's connection preface before its SETTINGS (RFC 9113, 3.4).
	preface = 24
	// longest is the maximum length in bytes of a first SETTINGS frame that a greeting parses. All known settings need a
	// tenth of this length.
	longest    = 64 * settingLen
	settingLen = 6
	// enlarged is the maximum payload in bytes that the changed SETTINGS announce to the server. For the life of the
	// connection, the server keeps a buffer as large as its largest written frame: at most 64 KiB with the header.
	enlarged = 64<<10 - headerLen
	most     = 1<<24 - 1
)

// greeting is the start of a client's data, up to its first SETTINGS.
type greeting struct {
	passed int    // bytes of the preface that have been read
	ready  []byte // the changed SETTINGS, or the bytes that the client sent instead
	done   bool   // whether only the bytes in ready remain to be read
}

func (g *greeting) over() bool { return g.done && len(g.ready) == 0 }

// read reads the next bytes. The caller has checked that the greeting is not over.
func (g *greeting) read(from io.Reader, p []byte) (int, error) {
	if g.passed < preface {
		n, err := from.Read(p[:min(len(p), preface-g.passed)])
		g.passed += n
		return n, err
	}
	if !g.done {
		if err := g.settings(from); err != nil {
			return 0, err
		}
	}
	n := copy(p, g.ready)
	g.ready = g.ready[n:]
	return n, nil
}

// settings reads the SETTINGS into ready and changes the maximum frame size.
func (g *greeting) settings(from io.Reader) error {
	frame := make([]byte, headerLen, headerLen+longest+settingLen)
	if n, err := io.ReadFull(from, frame); err != nil {
		return g.broken(frame[:n], err)
	}
	n := length(frame)
	if frame[3] != typeSettings || frame[4] != 0 || n > longest || n%settingLen != 0 {
		g.ready, g.done = frame, true
		return nil
	}
	frame = frame[:headerLen+n]
	if n, err := io.ReadFull(from, frame[headerLen:]); err != nil {
		return g.broken(frame[:headerLen+n], err)
	}
	g.ready, g.done = enlarge(frame), true
	return nil
}

// broken keeps the bytes before a connection error for the server. The server's next read reports the error.
func (g *greeting) broken(frame []byte, err error) error {
	if len(frame) == 0 {
		return err
	}
	g.ready, g.done = frame, true
	return nil
}

// enlarge sets the maximum frame size in SETTINGS to the constant enlarged. Repeated or invalid settings are unchanged.
func enlarge(frame []byte) []byte {
	for s := frame[headerLen:]; len(s) > 0; s = s[settingLen:] {
		if binary.BigEndian.Uint16(s) != maxFrameSize {
			continue
		}
		if size := binary.BigEndian.Uint32(s[2:]); size >= least && size <= most {
			binary.BigEndian.PutUint32(s[2:], enlarged)
		}
		return frame
	}
	frame = binary.BigEndian.AppendUint16(frame, maxFrameSize)
	frame = binary.BigEndian.AppendUint32(frame, enlarged)
	putLength(frame, len(frame)-headerLen)
	return frame
}
