package auth

import (
	"encoding/base64"
	"encoding/json"
	"strings"
	"time"
)

// lastExpiry is the last second that is believed of a claim; later ones, as those of before 1970, say nothing.
const lastExpiry = 1 << 40

// expiry is when a token ends by its own words, which the upstream has verified by accepting it: the claim exp of a JWT
// (RFC 7519 section 4.1.4). It is zero for tokens of other forms.
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
		Expiry float64 `json:"exp"` // a NumericDate may have a fraction
	}
	if json.Unmarshal(payload, &claims) != nil || claims.Expiry <= 0 || claims.Expiry > lastExpiry {
		return time.Time{}
	}
	return time.Unix(int64(claims.Expiry), 0)
}
