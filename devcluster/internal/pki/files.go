package pki

import (
	"crypto/ecdsa"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"os"
	"path/filepath"
)

// KeyPair names the files of a private key and of its public half, both PEM.
type KeyPair struct {
	PrivateFile string
	PublicFile  string
}

// NewKeyPair writes a fresh ECDSA key to dir/name.key and its public half to dir/name.pub. Service account tokens are
// signed with such a key; no certificate goes with it.
func NewKeyPair(dir, name string) (KeyPair, error) {
	key, err := newKey()
	if err != nil {
		return KeyPair{}, err
	}
	pair := KeyPair{PrivateFile: filepath.Join(dir, name+".key"), PublicFile: filepath.Join(dir, name+".pub")}
	if err := writePrivateKey(pair.PrivateFile, key); err != nil {
		return KeyPair{}, err
	}
	der, err := x509.MarshalPKIXPublicKey(&key.PublicKey)
	if err != nil {
		return KeyPair{}, fmt.Errorf("encode public key %s: %w", name, err)
	}
	return pair, writePEM(pair.PublicFile, "PUBLIC KEY", der, 0o644)
}

func writeCertificate(path string, der []byte) error {
	return writePEM(path, "CERTIFICATE", der, 0o644)
}

func writePrivateKey(path string, key *ecdsa.PrivateKey) error {
	// SEC 1, not PKCS #8: the service account key reader of kube-apiserver takes both, older tools only this.
	der, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return fmt.Errorf("encode private key: %w", err)
	}
	return writePEM(path, "EC PRIVATE KEY", der, 0o600)
}

func writePEM(path, block string, der []byte, mode os.FileMode) error {
	data := pem.EncodeToMemory(&pem.Block{Type: block, Bytes: der})
	if err := os.WriteFile(path, data, mode); err != nil {
		return fmt.Errorf("write certificate file: %w", err)
	}
	return nil
}
