package ekscluster

import (
	"context"
	"encoding/base64"
	"fmt"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sts"
	smithyhttp "github.com/aws/smithy-go/transport/http"
)

const (
	tokenPrefix = "k8s-aws-v1."
	// The server takes a token for 15 minutes after it was signed; two minutes are for clocks that disagree and one for
	// requests under way.
	tokenLife = 12 * time.Minute
)

// tokens makes the bearer tokens EKS understands: presigned STS GetCallerIdentity requests that carry the cluster's
// name in a signed header. Signing needs no network, only credentials, which are resolved anew for each token.
type tokens struct {
	cluster string
	presign *sts.PresignClient
	now     func() time.Time

	mu       sync.Mutex
	token    string
	signedAt time.Time
}

func newTokens(config aws.Config, cluster string, now func() time.Time) *tokens {
	return &tokens{cluster: cluster, presign: sts.NewPresignClient(sts.NewFromConfig(config)), now: now}
}

// get returns a token that is good for some minutes more. An error means that there are no credentials.
func (t *tokens) get(ctx context.Context) (string, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if age := t.now().Sub(t.signedAt); t.token != "" && age >= 0 && age < tokenLife {
		return t.token, nil
	}
	signedAt := t.now()
	request, err := t.presign.PresignGetCallerIdentity(ctx, &sts.GetCallerIdentityInput{}, func(p *sts.PresignOptions) {
		p.ClientOptions = append(p.ClientOptions, func(o *sts.Options) {
			o.APIOptions = append(o.APIOptions,
				smithyhttp.SetHeaderValue("x-k8s-aws-id", t.cluster),
				smithyhttp.SetHeaderValue("X-Amz-Expires", "60"), // ignored by the server, and demanded by older ones
			)
		})
	})
	if err != nil {
		return "", fmt.Errorf("sign a token for cluster %s: %w", t.cluster, err)
	}
	t.token, t.signedAt = tokenPrefix+base64.RawURLEncoding.EncodeToString([]byte(request.URL)), signedAt
	return t.token, nil
}

// drop forgets a token that was refused, unless a newer one has taken its place.
func (t *tokens) drop(token string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.token == token {
		t.token = ""
	}
}
