package manifest

import (
	"context"
	"errors"
	"fmt"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
)

// WaitUntilMay sends SelfSubjectAccessReviews as the user of a kubeconfig file, until the user has a permission or ctx
// ends. The wait is necessary because the server's authorizer receives a new binding with a delay.
func WaitUntilMay(ctx context.Context, kubeconfig string, what authorizationv1.ResourceAttributes) error {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return fmt.Errorf("read kubeconfig: %w", err)
	}
	config.QPS = -1
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return fmt.Errorf("create client: %w", err)
	}
	review := &authorizationv1.SelfSubjectAccessReview{
		Spec: authorizationv1.SelfSubjectAccessReviewSpec{ResourceAttributes: &what},
	}
	retry := time.NewTicker(retryEvery)
	defer retry.Stop()
	for {
		err := may(ctx, client, review)
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("wait for the permission to %s %s: %w (last error: %v)", what.Verb, what.Resource,
				context.Cause(ctx), err)
		case <-retry.C:
		}
	}
}

var errDenied = errors.New("access review: denied")

// may returns nil if the review allows the request.
func may(ctx context.Context, client kubernetes.Interface, review *authorizationv1.SelfSubjectAccessReview) error {
	answer, err := client.AuthorizationV1().SelfSubjectAccessReviews().Create(ctx, review, metav1.CreateOptions{})
	if err == nil && !answer.Status.Allowed {
		return errDenied
	}
	return err
}
