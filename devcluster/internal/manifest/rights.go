package manifest

import (
	"context"
	"fmt"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
)

// WaitUntilMay asks, as the user of a kubeconfig file, until the user may do something. The server's authorizer learns
// of a new binding a moment after the binding was accepted.
func WaitUntilMay(ctx context.Context, kubeconfig string, what authorizationv1.ResourceAttributes) error {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return fmt.Errorf("read kubeconfig: %w", err)
	}
	config.QPS = -1
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return fmt.Errorf("make client: %w", err)
	}
	question := &authorizationv1.SelfSubjectAccessReview{
		Spec: authorizationv1.SelfSubjectAccessReviewSpec{ResourceAttributes: &what},
	}
	again := time.NewTicker(retryEvery)
	defer again.Stop()
	for {
		answer, err := client.AuthorizationV1().SelfSubjectAccessReviews().Create(ctx, question, metav1.CreateOptions{})
		if err == nil && answer.Status.Allowed {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("wait for the right to %s %s: %w (last answer: %v)", what.Verb, what.Resource, context.Cause(ctx), err)
		case <-again.C:
		}
	}
}
