package boot

import (
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials/stscreds"
	"github.com/aws/aws-sdk-go-v2/service/sts"
)

// Rights returns the configuration for a cluster's region with the permissions of its role, assumed under the session's name.
// Without a role they are the program's own.
func Rights(config aws.Config, session, region, roleARN, externalID string) aws.Config {
	out := config.Copy()
	out.Region = region
	if roleARN == "" {
		return out
	}
	out.Credentials = aws.NewCredentialsCache(stscreds.NewAssumeRoleProvider(sts.NewFromConfig(config), roleARN, func(o *stscreds.AssumeRoleOptions) {
		o.RoleSessionName = session
		if externalID != "" {
			o.ExternalID = aws.String(externalID)
		}
	}))
	return out
}
