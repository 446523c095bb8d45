package audit

import (
	"encoding/json"
	"maps"
	"net/netip"
	"slices"
	"strconv"
	"time"

	"k8s.io/apiserver/pkg/authentication/user"
)

// appendLine appends a record as a line of JSON, with the same bytes as kube-apiserver's log backend. The codec of that
// backend takes seven times as long, most of it for reflection.
func (r *record) appendLine(b []byte) []byte {
	b = append(b, `{"kind":"Event","apiVersion":"audit.k8s.io/v1","level":"`...)
	b = append(b, r.Audited.Level...)
	b = appendString(append(b, `","auditID":`...), r.AuditID)
	b = append(append(b, `,"stage":"`...), r.stage...)
	b = appendString(append(b, `","requestURI":`...), cut(r.URI, maxText))
	b = appendString(append(b, `,"verb":`...), cut(r.Verb, maxText))
	b = appendUser(append(b, `,"user":`...), r.Caller)
	b = r.appendSources(b)
	b = appendField(b, `,"userAgent":`, cut(r.UserAgent, maxUserAgent))
	if r.Scope != "" {
		b = r.appendObject(append(b, `,"objectRef":`...))
	}
	b = r.appendStatus(b)
	b = appendTime(append(b, `,"requestReceivedTimestamp":`...), r.Began)
	b = appendTime(append(b, `,"stageTimestamp":`...), r.at)
	for i, a := range r.annotations[:r.annotated] {
		b = append(b, [2]string{`,"annotations":{`, `,`}[min(i, 1)]...)
		b = appendString(append(appendString(b, a.key), ':'), a.value)
	}
	if r.annotated > 0 {
		b = append(b, '}')
	}
	return append(b, '}', '\n')
}

func appendUser(b []byte, caller user.Info) []byte {
	if caller == nil {
		return append(b, `{}`...)
	}
	b = append(b, '{')
	begin := len(b)
	b = appendField(b, `,"username":`, caller.GetName())
	b = appendField(b, `,"uid":`, caller.GetUID())
	if groups := caller.GetGroups(); len(groups) > 0 {
		b = appendStrings(append(b, `,"groups":`...), groups)
	}
	if extra := caller.GetExtra(); len(extra) > 0 {
		b = append(b, `,"extra":{`...)
		b = append(appendExtra(b, extra), '}')
	}
	return append(withoutComma(b, begin), '}')
}

func appendExtra(b []byte, extra map[string][]string) []byte {
	if len(extra) == 1 { // usually the credential's ID; needs no sorting
		for key, values := range extra {
			b = appendStrings(append(appendString(b, key), ':'), values)
		}
		return b
	}
	for i, key := range slices.Sorted(maps.Keys(extra)) {
		if i > 0 {
			b = append(b, ',')
		}
		b = appendStrings(append(appendString(b, key), ':'), extra[key])
	}
	return b
}

func (r *record) appendSources(b []byte) []byte {
	if address, err := netip.ParseAddrPort(r.Client); err == nil && address.Addr().Zone() == "" && r.isPlain() {
		b = append(b, `,"sourceIPs":["`...)
		b = address.Addr().Unmap().AppendTo(b)
		return append(b, `"]`...)
	}
	ips := r.sources()
	for i, ip := range ips {
		b = append(b, [2]string{`,"sourceIPs":[`, `,`}[min(i, 1)]...)
		b = appendString(b, ip.String())
	}
	if len(ips) > 0 {
		b = append(b, ']')
	}
	return b
}

func (r *record) appendObject(b []byte) []byte {
	b = append(b, '{')
	begin := len(b)
	b = appendField(b, `,"resource":`, cut(r.Resource, maxText))
	b = appendField(b, `,"namespace":`, cut(r.Namespace, maxText))
	b = appendField(b, `,"name":`, cut(r.Name, maxText))
	b = appendField(b, `,"apiGroup":`, cut(r.Group, maxText))
	b = appendField(b, `,"apiVersion":`, cut(r.Version, maxText))
	b = appendField(b, `,"subresource":`, cut(r.Subresource, maxText))
	return append(withoutComma(b, begin), '}')
}

func (r *record) appendStatus(b []byte) []byte {
	if r.code != 0 {
		b = strconv.AppendInt(append(b, `,"responseStatus":{"metadata":{},"code":`...), int64(r.code), 10)
		return append(b, '}')
	}
	if r.status == nil {
		return b
	}
	b = append(b, `,"responseStatus":`...)
	text, err := json.Marshal(r.status)
	if err != nil {
		panic("BUG: audit: cannot encode Status: " + err.Error())
	}
	return append(b, text...)
}

// appendTime appends a time in the format of metav1.MicroTime.
func appendTime(b []byte, t time.Time) []byte {
	b = t.UTC().AppendFormat(append(b, '"'), "2006-01-02T15:04:05.000000Z07:00")
	return append(b, '"')
}

// appendField appends a field unless it is empty. name begins with a comma.
func appendField(b []byte, name, value string) []byte {
	if value == "" {
		return b
	}
	return appendString(append(b, name...), value)
}

func appendStrings(b []byte, values []string) []byte {
	if values == nil {
		return append(b, `null`...)
	}
	b = append(b, '[')
	for i, value := range values {
		if i > 0 {
			b = append(b, ',')
		}
		b = appendString(b, value)
	}
	return append(b, ']')
}

// withoutComma removes the comma before the first field of an object whose fields start at begin.
func withoutComma(b []byte, begin int) []byte {
	if len(b) == begin {
		return b
	}
	return append(b[:begin], b[begin+1:]...)
}

// appendString appends a string as encoding/json writes it.
func appendString(b []byte, s string) []byte {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c >= 0x7f || c == '"' || c == '\\' || c == '<' || c == '>' || c == '&' {
			text, err := json.Marshal(s)
			if err != nil {
				panic("BUG: audit: cannot encode string: " + err.Error())
			}
			return append(b, text...)
		}
	}
	b = append(append(b, '"'), s...)
	return append(b, '"')
}
