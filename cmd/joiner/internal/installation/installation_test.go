package installation

import (
	"errors"
	"fmt"
	"net"
	"testing"
)

// U10, V131: what is wrong comes first; the table is named where there is no installation.
func TestU10V131TheCauseOfAnUnreadInstallationComesFirst(t *testing.T) {
	for want, err := range map[string]error{
		"find AWS credentials: set AWS_PROFILE, or log in (aws sso login)":                                                                            errors.New("get identity: get credentials: failed to refresh cached credentials, no EC2 IMDS role found"),
		"find the host ssm.us-wset-2.amazonaws.com: check the network, and the region us-west-2":                                                      fmt.Errorf("read: %w", &net.DNSError{Name: "ssm.us-wset-2.amazonaws.com"}),
		"find the installation: deploy the region's stack (joiner), correct --region, or name the ledger's DynamoDB table by --table or JOINER_TABLE": fmt.Errorf("%w: x", errNoInstallation),
		"read the installation in us-west-2": errors.New("AccessDeniedException"),
	} {
		if got := unreadText(err, "us-west-2"); got != want {
			t.Errorf("%v: %s, want %s", err, got, want)
		}
	}
}
