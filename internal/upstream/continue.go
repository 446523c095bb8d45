package upstream

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
)

// ContinueVersion is the only version of continue tokens that kube-apiserver supports.
const ContinueVersion = "meta.k8s.io/v1"

// ContinueToken is a continue token as kube-apiserver writes and reads it (semantics 2.5). Start is the first key of
// the next page, relative to the request's namespace or resource.
type ContinueToken struct {
	Version string `json:"v"`
	RV      int64  `json:"rv"`
	Start   string `json:"start"`
}

// ContinueStyle is the prefix of a continue token's start key. kube-apiserver writes one of two styles, and accepts
// both styles.
type ContinueStyle string

// Values of ContinueStyle.
const (
	CacheStyle ContinueStyle = "/" // written by the watch cache
	EtcdStyle  ContinueStyle = ""  // written by the storage, for resources without a watch cache
)

// ContinueBehind returns the token that continues a list at resourceVersion rv after the object with the key.
func ContinueBehind(rv int64, key string, style ContinueStyle) string {
	var b bytes.Buffer
	encoder := json.NewEncoder(&b) // escapes HTML, as kube-apiserver does
	if err := encoder.Encode(ContinueToken{Version: ContinueVersion, RV: rv,
		Start: string(style) + key + "\x00"}); err != nil {
		panic("BUG: encode continue token: " + err.Error())
	}
	return base64.RawURLEncoding.EncodeToString(bytes.TrimSuffix(b.Bytes(), []byte("\n")))
}
