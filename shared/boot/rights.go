package boot

import (
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials/stscreds"
	"github.com/aws/aws-sdk-go-v2/service/sts"

	"github.com/joiner-sh/joiner/shared/model"
)

// Rights returns the configuration for a cluster's region with the rights of its role for the program (provision, …), assumed
// under the session joiner-<program>. Without a role they are the program's own.
func Rights(config aws.Config, program string, reg model.Registration) aws.Config {
	out := config.Copy()
	out.Region = reg.Region
	role := reg.Roles.Of(program)
	if role == "" {
		return out
	}
	out.Credentials = aws.NewCredentialsCache(stscreds.NewAssumeRoleProvider(sts.NewFromConfig(config), role, func(o *stscreds.AssumeRoleOptions) {
		o.RoleSessionName = "joiner-" + program
		if reg.ExternalID != "" {
			o.ExternalID = aws.String(reg.ExternalID)
		}
	}))
	return out
}
