package proof_test

import (
	"context"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"

	"github.com/joiner-sh/joiner/cmd/joiner/proof"
	"github.com/joiner-sh/joiner/cmd/joiner/proof/probes"
	"github.com/joiner-sh/joiner/testenv/local/cloud"
	"github.com/joiner-sh/joiner/testenv/test/conform"
)

// Of moto every probe passes that testenv/test/conform/KNOWN_DIFFERENCES.md does not list, and none that it lists.
func TestMotoAnswersAsTheListSays(t *testing.T) {
	endpoint := os.Getenv(conform.MotoEndpointVariable)
	if endpoint == "" {
		t.Skip("make conform runs it")
	}
	known, err := conform.KnownDifferences("moto")
	if err != nil {
		t.Fatal(err)
	}
	o := proof.Options{
		Clock: &hasty{}, Yes: true, Source: "moto " + endpoint, Run: proof.NewRun(time.Now()), Progress: func(text string) { t.Log(text) },
		Config: aws.Config{
			RetryMaxAttempts: 1, // what it does not know it does not know the next time either
			Region:           conform.Region, BaseEndpoint: aws.String(endpoint),
			Credentials:                credentials.NewStaticCredentialsProvider(cloud.DefaultAccessKeyID, cloud.DefaultSecretAccessKey, ""),
			RequestChecksumCalculation: aws.RequestChecksumCalculationWhenSupported, ResponseChecksumValidation: aws.ResponseChecksumValidationWhenSupported,
		},
	}
	list := slices.DeleteFunc(probes.All(), func(p proof.Probe) bool {
		why, _ := known.Why("proof", p.ID)
		return strings.HasPrefix(why, "not tried")
	})
	r, err := proof.Run(t.Context(), o, list)
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range r.Results {
		why, listed := known.Why("proof", x.ID)
		switch {
		case x.Verdict == proof.Skipped:
		case x.Verdict == proof.Pass && listed && !strings.Contains(why, "may pass"):
			t.Errorf("%s passes: take it off the list of known differences", x.ID)
		case x.Verdict != proof.Pass && !listed:
			t.Errorf("| moto | proof | %s | %s %v %s |", x.ID, x.Verdict, x.Seen, x.Why)
		}
	}
	if r.Count(proof.Pass) < 50 {
		t.Errorf("only %d probes pass on moto", r.Count(proof.Pass))
	}
	ids := []string{}
	for _, p := range probes.All() {
		ids = append(ids, p.ID)
	}
	for _, id := range known.Names("proof") {
		if !slices.Contains(ids, id) {
			t.Errorf("the list of known differences has %s, which is no probe", id)
		}
	}
}

// hasty is a clock on which waiting takes six times as long as it does: what never comes is given up sooner.
type hasty struct {
	mu   sync.Mutex
	skew time.Duration
}

func (h *hasty) Now() time.Time {
	h.mu.Lock()
	defer h.mu.Unlock()
	return time.Now().Add(h.skew)
}

func (h *hasty) Sleep(ctx context.Context, d time.Duration) error {
	h.mu.Lock()
	h.skew += 5 * d
	h.mu.Unlock()
	return proof.SystemClock().Sleep(ctx, d)
}
