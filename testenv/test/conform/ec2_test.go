package conform_test

import (
	"testing"
	"time"

	"github.com/joiner-sh/joiner/testenv/local/cloud/clock"
	"github.com/joiner-sh/joiner/testenv/local/cloud/ec2"
	"github.com/joiner-sh/joiner/testenv/local/cloud/iam"
	"github.com/joiner-sh/joiner/testenv/local/cloud/ssm"
	"github.com/joiner-sh/joiner/testenv/test/conform"
)

func TestEC2(t *testing.T) {
	timing := ec2.Timing{
		Boot: ec2.Delay{Min: 100 * time.Millisecond, Max: 300 * time.Millisecond}, Shutdown: ec2.Delay{Min: 100 * time.Millisecond, Max: 300 * time.Millisecond},
		Visibility: 100 * time.Millisecond, Gone: time.Hour,
	}
	model := ec2.New(ec2.Options{Clock: clock.System(), Timing: &timing})
	conform.Each(t, conform.Services{"ec2": ec2.NewHandler(model)}, conform.EC2)
}

func TestSSM(t *testing.T) {
	conform.Each(t, conform.Services{"ssm": ssm.NewHandler(ssm.New(ssm.Options{}))}, conform.SSM)
}

func TestIAM(t *testing.T) {
	conform.Each(t, conform.Services{"iam": iam.NewHandler(ec2.New(ec2.Options{Clock: clock.System()}))}, conform.IAM)
}
