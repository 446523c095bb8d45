package auth

import (
	"encoding/base64"
	"encoding/json"
	"strings"
	"time"
)

// maxExpiry is the largest accepted value of the claim exp, in Unix seconds. expiry ignores larger values.
const maxExpiry = 1 << 40

// expiry returns the expiry of a JWT (claim exp, RFC 7519 section 4.1.4), zero for other tokens. The upstream has
// verified the claim by accepting the token.
func expiry(token string) time.Time {
	parts := strings.Split(token, ".")
	if len(parts) != 3 {
		return time.Time{}
	}
	payload, err := base64.RawURLEncoding.DecodeString(parts[1])
	if err != nil {
		return time.Time{}
	}
	var claims struct {
		Expiry float64 `json:"exp"` // may have a fraction (NumericDate)
	}
	if json.Unmarshal(payload, &claims) != nil || claims.Expiry <= 0 || claims.Expiry > maxExpiry {
		return time.Time{}
	}
	return time.Unix(int64(claims.Expiry), 0)
}
