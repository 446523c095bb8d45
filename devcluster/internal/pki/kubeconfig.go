package pki

import (
	"fmt"
	"os"

	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// Kubeconfig is the content of a kubeconfig file: one cluster, one user, one context.
type Kubeconfig struct {
	Server string // https://host:port
	CAFile string
	User   string // name of the user's entry
	Pair   Pair
}

// Write writes the file. The file contains the certificates and the key, so it can be copied.
func (k Kubeconfig) Write(path string) error {
	ca, err := os.ReadFile(k.CAFile)
	if err != nil {
		return fmt.Errorf("read CA certificate for kubeconfig: %w", err)
	}
	cert, err := os.ReadFile(k.Pair.CertFile)
	if err != nil {
		return fmt.Errorf("read certificate for kubeconfig: %w", err)
	}
	key, err := os.ReadFile(k.Pair.KeyFile)
	if err != nil {
		return fmt.Errorf("read key for kubeconfig: %w", err)
	}
	const cluster = "devcluster"
	config := clientcmdapi.NewConfig()
	config.Clusters[cluster] = &clientcmdapi.Cluster{Server: k.Server, CertificateAuthorityData: ca}
	config.AuthInfos[k.User] = &clientcmdapi.AuthInfo{ClientCertificateData: cert, ClientKeyData: key}
	config.Contexts[k.User] = &clientcmdapi.Context{Cluster: cluster, AuthInfo: k.User}
	config.CurrentContext = k.User
	if err := clientcmd.WriteToFile(*config, path); err != nil {
		return fmt.Errorf("write kubeconfig: %w", err)
	}
	return nil
}
