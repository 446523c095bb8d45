package auth

import (
	"encoding/base64"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode"

	"go.uber.org/zap"
)

const (
	// maxRefusal is the maximum length in bytes of a logged reason.
	maxRefusal = 256
	// tokenPart is the length in bytes from which a part of a token must not be logged. A reason does not contain such a
	// part of a base64 token by chance.
	tokenPart = 8
	// jwtSegments is the number of segments of a JWT: header, claims and signature.
	jwtSegments = 3
)

const withheld = "the reason repeats a part of the token"

// Maximum numbers of logged refusals per minute. Anyone can cause refusals, so no source and no reason may use up the
// lines of all others.
const (
	maxRefusals         = 5
	maxRefusalsOfSource = 2
	maxRefusalsOfReason = 2
)

// refusal is a logged refusal of a token. Equal ones are logged once a minute.
type refusal struct {
	source netip.Prefix
	reason string
}

// refusals logs why the upstream refuses tokens, for example tokens of another audience. Safe for concurrent use.
type refusals struct {
	log *zap.Logger

	mu    sync.Mutex // guards the fields below
	since time.Time
	lines []refusal // logged in the minute that began at since
}

// hasRoom reports whether a refusal of a source may still be logged in this minute. If not, the caller need not
// prepare the reason (printableRefusal).
func (r *refusals) hasRoom(source netip.Prefix) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return time.Since(r.since) >= time.Minute || len(r.lines) < maxRefusals && r.ofSource(source) < maxRefusalsOfSource
}

// ofSource returns the number of logged refusals of a source. The caller holds mu.
func (r *refusals) ofSource(source netip.Prefix) (n int) {
	for _, line := range r.lines {
		if line.source == source {
			n++
		}
	}
	return n
}

func (r *refusals) note(one refusal) {
	if !r.mayLog(one) {
		return
	}
	fields := []zap.Field{zap.String("reason", one.reason)}
	if one.source.IsValid() {
		fields = append(fields, zap.Stringer("source", one.source))
	}
	r.log.Info("Upstream refused a token", fields...)
}

// mayLog reports whether a refusal may be logged, and counts it.
func (r *refusals) mayLog(one refusal) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if now := time.Now(); now.Sub(r.since) >= time.Minute {
		r.since, r.lines = now, nil
	}
	ofReason := 0
	for _, line := range r.lines {
		if line.reason == one.reason {
			ofReason++
		}
	}
	if len(r.lines) >= maxRefusals || r.ofSource(one.source) >= maxRefusalsOfSource || ofReason >= maxRefusalsOfReason ||
		slices.Contains(r.lines, one) {
		return false
	}
	r.lines = append(r.lines, one)
	return true
}

// printableRefusal returns the beginning of a reason, or withheld if the reason contains a part of the token: an
// authentication webhook may write any text.
func printableRefusal(reason, token string) string {
	if len(reason) > maxRefusal {
		reason = strings.ToValidUTF8(reason[:maxRefusal], "")
	}
	part := min(tokenPart, len(token))
	if sharePart(reason, token, part) {
		return withheld
	}
	plain := lettersAndDigits(reason)
	for _, text := range append(decodedSegments(token), token) {
		if sharePart(plain, lettersAndDigits(text), part) {
			return withheld
		}
	}
	return reason
}

// sharePart reports whether two texts have a part of the given length in bytes in common.
func sharePart(reason, token string, length int) bool {
	for i := range max(0, len(reason)-length+1) {
		if strings.Contains(token, reason[i:i+length]) {
			return true
		}
	}
	return false
}

// lettersAndDigits returns only the letters and digits of a text, with letters in lower case, because a webhook may
// quote, escape or divide a token.
func lettersAndDigits(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsDigit(r) {
			return unicode.ToLower(r)
		}
		return -1
	}, text)
}

// decodedSegments decodes the base64 segments of a token, because some tokens are an encoded name and password. It
// omits the header and claims of a JWT: they are worth nothing without the signature, and a useful reason names claims,
// such as the audience.
func decodedSegments(token string) (decoded []string) {
	segments := strings.Split(token, ".")
	if len(segments) == jwtSegments {
		segments = segments[jwtSegments-1:]
	}
	for _, segment := range segments {
		for _, encoding := range []*base64.Encoding{base64.RawURLEncoding, base64.RawStdEncoding} {
			if text, err := encoding.DecodeString(strings.TrimRight(segment, "=")); err == nil {
				decoded = append(decoded, string(text))
			}
		}
	}
	return decoded
}
