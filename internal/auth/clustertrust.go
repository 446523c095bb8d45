package auth

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
)

// clusterTrust is the parsed ConfigMap in which kube-apiserver publishes the trusted CA bundles for servers that
// delegate authentication to it.
type clusterTrust struct {
	clientCA, proxyCA []byte // PEM; nil if absent
	proxyNames        []string
	proxyHeaders      ProxyHeaders
	// unread is true if the ConfigMap could not be read, and proxiesUnread if its part about front proxies could not be
	// read.
	unread, proxiesUnread bool
}

const trustConfigMap = "/api/v1/namespaces/kube-system/configmaps/extension-apiserver-authentication"

var errNoConfigMap = errors.New("read ConfigMap kube-system/extension-apiserver-authentication: not found or not permitted")

// readCluster reads the ConfigMap. It returns errNoConfigMap if the ConfigMap is absent, or if the facade lacks the
// permission. In the second case the result is marked as unread, because the ConfigMap may exist.
func readCluster(ctx context.Context, upstream Getter) (clusterTrust, error) {
	ctx, cancel := context.WithTimeout(ctx, trustTimeout)
	defer cancel()
	code, body, err := upstream.Get(ctx, trustConfigMap)
	switch {
	case err != nil:
		return clusterTrust{unread: true}, fmt.Errorf("read ConfigMap of trusted CA bundles: %w", err)
	case code == http.StatusNotFound, code == http.StatusForbidden:
		return clusterTrust{unread: code == http.StatusForbidden},
			fmt.Errorf("%w (status code %d); the Role extension-apiserver-authentication-reader grants the permission",
				errNoConfigMap, code)
	case code != http.StatusOK:
		return clusterTrust{unread: true}, fmt.Errorf("read ConfigMap of trusted CA bundles: unexpected status code %d", code)
	}
	var m struct {
		Data map[string]string `json:"data"`
	}
	if err := json.Unmarshal(body, &m); err != nil {
		return clusterTrust{unread: true}, fmt.Errorf("parse ConfigMap of trusted CA bundles: %w", err)
	}
	return parseCluster(m.Data)
}

func parseCluster(data map[string]string) (clusterTrust, error) {
	c := clusterTrust{clientCA: pemIn(data, "client-ca-file")}
	for key, list := range map[string]*[]string{
		"requestheader-allowed-names": &c.proxyNames, "requestheader-username-headers": &c.proxyHeaders.Username,
		"requestheader-uid-headers": &c.proxyHeaders.UID, "requestheader-group-headers": &c.proxyHeaders.Group,
		"requestheader-extra-headers-prefix": &c.proxyHeaders.ExtraPrefix,
	} {
		if data[key] == "" {
			continue
		}
		if err := json.Unmarshal([]byte(data[key]), list); err != nil {
			// Without its lists, the bundle would trust more names and headers than configured.
			return clusterTrust{clientCA: c.clientCA, proxiesUnread: true},
				fmt.Errorf("parse %s in ConfigMap of trusted CA bundles: %w", key, err)
		}
	}
	c.proxyCA = pemIn(data, "requestheader-client-ca-file")
	return c, nil
}

// pemIn returns nil only if the key is absent.
func pemIn(data map[string]string, key string) []byte {
	if pem, ok := data[key]; ok {
		return []byte(pem)
	}
	return nil
}
