package auth

import (
	"strings"

	"go.uber.org/zap"
)

const (
	// maxRefusal is the maximum length in bytes of a logged reason.
	maxRefusal = 256
	// tokenPart is the length in bytes of a part of a token that is not logged. A token in base64 has no part of this
	// length in common with a text by chance.
	tokenPart = 8
)

const withheld = "the reason repeats a part of the token"

// logRefusal logs why the upstream refused a token, for example a token of another audience.
func (t *tokens) logRefusal(f *flight, reason, token string) {
	entry := t.log.Check(zap.InfoLevel, "Upstream refused a token")
	if entry == nil {
		return
	}
	fields := []zap.Field{zap.String("reason", printableRefusal(reason, token))}
	if f.source.IsValid() {
		fields = append(fields, zap.Stringer("source", f.source))
	}
	entry.Write(fields...)
}

// printableRefusal returns the beginning of a reason, or withheld if it contains a part of the token: authentication
// webhooks write any text.
func printableRefusal(reason, token string) string {
	if len(reason) > maxRefusal {
		reason = strings.ToValidUTF8(reason[:maxRefusal], "")
	}
	part := min(tokenPart, len(token))
	for i := range max(0, len(reason)-part+1) {
		if strings.Contains(token, reason[i:i+part]) {
			return withheld
		}
	}
	return reason
}
