package testkit

import (
	"encoding/base64"
	"testing"
)

func TestMaskList(t *testing.T) {
	token := base64.RawURLEncoding.EncodeToString([]byte(`{"v":"meta.k8s.io/v1","rv":7,"start":"/a\u0000"}`))
	open := `{"v":"meta.k8s.io/v1","rv":N,"start":"/a\u0000"}`
	for name, test := range map[string]struct{ body, want string }{
		"built-in": {
			`{"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"7"},"items":[{"metadata":{"resourceVersion":"7"}}]}`,
			`{"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"N"},"items":[{"metadata":{"resourceVersion":"7"}}]}`,
		},
		"built-in with token": {
			`{"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"7","continue":"` + token + `","remainingItemCount":2},"items":[]}`,
			`{"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"N","continue":"` + open + `","remainingItemCount":2},"items":[]}`,
		},
		"indented": {
			"{\n  \"kind\": \"Table\",\n  \"apiVersion\": \"meta.k8s.io/v1\",\n  \"metadata\": {\n    \"resourceVersion\": \"7\"\n  }}",
			"{\n  \"kind\": \"Table\",\n  \"apiVersion\": \"meta.k8s.io/v1\",\n  \"metadata\": {\n    \"resourceVersion\": \"N\"\n  }}",
		},
		"custom": {
			`{"apiVersion":"ex.io/v1","items":[],"kind":"WidgetList","metadata":{"continue":"` + token + `","remainingItemCount":1,"resourceVersion":"7"}}` + "\n",
			`{"apiVersion":"ex.io/v1","items":[],"kind":"WidgetList","metadata":{"continue":"` + open + `","remainingItemCount":1,"resourceVersion":"N"}}` + "\n",
		},
		"custom without token": {
			`{"apiVersion":"ex.io/v1","items":[],"kind":"WidgetList","metadata":{"continue":"","resourceVersion":"7"}}` + "\n",
			`{"apiVersion":"ex.io/v1","items":[],"kind":"WidgetList","metadata":{"continue":"","resourceVersion":"N"}}` + "\n",
		},
		"yaml": {
			"items:\n- metadata:\n    resourceVersion: \"7\"\nkind: PodList\nmetadata:\n  resourceVersion: \"7\"\n",
			"items:\n- metadata:\n    resourceVersion: \"7\"\nkind: PodList\nmetadata:\n  resourceVersion: \"N\"\n",
		},
		"an object stays": {
			`{"kind":"Pod","apiVersion":"v1","metadata":{"resourceVersion":"7"}}`,
			`{"kind":"Pod","apiVersion":"v1","metadata":{"resourceVersion":"7"}}`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			if got := string(maskList([]byte(test.body))); got != test.want {
				t.Errorf("got  %s\nwant %s", got, test.want)
			}
		})
	}
}
