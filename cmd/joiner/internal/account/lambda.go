package account

import (
	"context"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/lambda"

	"github.com/joiner-sh/joiner/cmd/joiner/internal/check"
)

// What Lambda keeps for functions that reserve nothing. In an account with a smaller quota that is less, and nothing
// can be reserved. Source: Lambda developer guide, "Configuring reserved concurrency for a function".
const leastUnreserved = 100

// few is how many executions at once are too few for the functions of an installation: a tick invokes four, and a
// launch some more.
const few = 20

// quotaOfConcurrency is Service Quotas' code of Lambda's concurrent executions.
const quotaOfConcurrency = "L-B99A9384"

// Concurrency evaluates the account's concurrent executions, of which so many are to be reserved. bound is the command
// that bounds what queues take at once; "" = they are bounded, or deployed already.
func (a *Account) Concurrency(ctx context.Context, reserve int, bound string) ([]check.Finding, error) {
	out, err := lambda.NewFromConfig(a.Config).GetAccountSettings(ctx, &lambda.GetAccountSettingsInput{})
	if err != nil {
		return nil, err
	}
	limit, free := int(out.AccountLimit.ConcurrentExecutions),
		int(aws.ToInt32(out.AccountLimit.UnreservedConcurrentExecutions))
	raise := fmt.Sprintf(
		"aws service-quotas request-service-quota-increase --service-code lambda --quota-code %s --desired-value 1000",
		quotaOfConcurrency)
	seen := fmt.Sprintf("%d of %d concurrent executions are unreserved", free, limit)
	switch {
	case reserve > 0 && free-reserve < leastUnreserved:
		return check.One(check.Fail,
			fmt.Sprintf("%s, and the functions reserve %d: Lambda keeps %d unreserved and refuses that", seen, reserve,
				leastUnreserved),
			"leave -c reserve=true out, or "+raise), nil
	case limit < leastUnreserved && bound != "":
		return check.One(check.Warn, seen+": bursts of messages are throttled, and retried after 40 s",
			bound+", or "+raise), nil
	case free-reserve < few:
		return check.One(check.Warn,
			seen+": functions compete with each other, and with every other function of the account", raise), nil
	}
	return check.One(check.OK, seen, ""), nil
}
