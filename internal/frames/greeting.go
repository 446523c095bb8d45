package frames

import (
	"encoding/binary"
	"io"
)

const (
	// preface is how long what each client begins with is, before its SETTINGS (RFC 9113, 3.4).
	preface = 24
	// longest is how long first SETTINGS may be to be read: ten times what there are to set.
	longest = 64 * settingLen
	// settingLen is how long one of them is.
	settingLen = 6
	// told is the largest payload that the server is told to write. The server keeps a buffer of the size that it has
	// written once for as long as the connection lives; with its header it is 64 KiB.
	told = 64<<10 - headerLen
	// most is the largest payload that there can be.
	most = 1<<24 - 1
)

// greeting is the beginning of what a client says, up to its first SETTINGS.
type greeting struct {
	passed int    // bytes of the preface that went through
	ready  []byte // the SETTINGS as the server shall read them, or what came in their place
	done   bool   // ready is all that there still is
}

func (g *greeting) over() bool { return g.done && len(g.ready) == 0 }

// read reads on as long as it is not over.
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

// settings reads the SETTINGS, and writes into them how large frames may be.
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

// broken lets the server read what came before the connection broke; its next read fails by itself.
func (g *greeting) broken(frame []byte, err error) error {
	if len(frame) == 0 {
		return err
	}
	g.ready, g.done = frame, true
	return nil
}

// enlarge says in SETTINGS that frames may be as large as told. What is set twice, or wrong, remains so.
func enlarge(frame []byte) []byte {
	for s := frame[headerLen:]; len(s) > 0; s = s[settingLen:] {
		if binary.BigEndian.Uint16(s) != maxFrameSize {
			continue
		}
		if size := binary.BigEndian.Uint32(s[2:]); size >= least && size <= most {
			binary.BigEndian.PutUint32(s[2:], told)
		}
		return frame
	}
	frame = binary.BigEndian.AppendUint16(frame, maxFrameSize)
	frame = binary.BigEndian.AppendUint32(frame, told)
	putLength(frame, len(frame)-headerLen)
	return frame
}
