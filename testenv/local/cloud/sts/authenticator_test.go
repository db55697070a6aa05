package sts_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/joiner-sh/joiner/testenv/local/cloud/sts"
)

// Outside of EKS aws-iam-authenticator lets in the roles that its configuration maps, into the cluster that it names.
func TestAuthenticatorLetsInTheRolesItMaps(t *testing.T) {
	f := newFixture(t)
	a, err := sts.ReadAuthenticator([]byte("clusterID: own\nserver:\n  mapRoles:\n" +
		"    - {roleARN: \"" + f.role + "\", username: \"joiner:{{SessionName}}\", groups: [\"joiner:functions\"]}\n"))
	if err != nil {
		t.Fatal(err)
	}
	f.review.Entries, f.review.Cluster = a, "own"
	user, err := f.review.Authenticate(token(t, f.creds, "own", ""))
	groups := []string{"joiner:functions"}
	if err != nil || !strings.HasPrefix(user.Username, "joiner:") || !slices.Equal(user.Groups, groups) {
		t.Errorf("user %+v: %v", user, err)
	}
	f.review.Cluster = "other"
	if user, err := f.review.Authenticate(token(t, f.creds, "other", "")); err == nil {
		t.Errorf("it lets %+v into another cluster", user)
	}
	for _, text := range []string{"server: {}", "clusterID: own\nserver: {mapUsers: []}"} {
		if _, err := sts.ReadAuthenticator([]byte(text)); err == nil {
			t.Errorf("%q is read", text)
		}
	}
}
