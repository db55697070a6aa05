package preflight

import (
	"context"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/lambda"

	"github.com/joiner-sh/joiner/cmd/joiner/doctor"
)

// What Lambda keeps for functions that reserve nothing. In an account with a smaller quota that is less, and nothing can be reserved.
// Source: Lambda developer guide, "Configuring reserved concurrency for a function".
const leastUnreserved = 100

// few is how many executions at once are too few for the functions of an installation: a tick invokes four, and a launch some more.
const few = 20

// quotaOfConcurrency is Service Quotas' code of Lambda's concurrent executions.
const quotaOfConcurrency = "L-B99A9384"

// concurrency looks whether the account's quota of concurrent executions lets functions reserve what the plan says, or run at all.
func (s *Checker) concurrency(ctx context.Context) ([]doctor.Finding, error) {
	reserve := 0
	if s.plan.Reserve {
		reserve = s.plan.ReservedConcurrency()
	}
	return s.checkConcurrency(ctx, reserve, !s.plan.Batches)
}

// Concurrency looks at the account's concurrent executions where the functions are deployed.
func (s *Checker) Concurrency(ctx context.Context) ([]doctor.Finding, error) {
	return s.checkConcurrency(ctx, 0, false)
}

// checkConcurrency evaluates the account's executions, of which so many are to be reserved; unbounded where nothing bounds what queues take.
func (s *Checker) checkConcurrency(ctx context.Context, reserve int, unbounded bool) ([]doctor.Finding, error) {
	out, err := lambda.NewFromConfig(s.config).GetAccountSettings(ctx, &lambda.GetAccountSettingsInput{})
	if err != nil {
		return nil, err
	}
	limit, free := int(out.AccountLimit.ConcurrentExecutions), int(aws.ToInt32(out.AccountLimit.UnreservedConcurrentExecutions))
	raise := fmt.Sprintf("aws service-quotas request-service-quota-increase --service-code lambda --quota-code %s --desired-value 1000", quotaOfConcurrency)
	seen := fmt.Sprintf("%d of %d concurrent executions are unreserved", free, limit)
	switch {
	case reserve > 0 && free-reserve < leastUnreserved:
		return one(doctor.Fail, fmt.Sprintf("%s, and the functions reserve %d: Lambda keeps %d unreserved and refuses that", seen, reserve, leastUnreserved),
			"leave -c reserve=true out, or "+raise), nil
	case limit < leastUnreserved && unbounded:
		return one(doctor.Warn, seen+": bursts of messages are throttled, and retried after 40 s", s.deploy("-c batches=2")+", or "+raise), nil
	case free-reserve < few:
		return one(doctor.Warn, seen+": functions compete with each other, and with every other function of the account", raise), nil
	}
	return one(doctor.OK, seen, ""), nil
}
