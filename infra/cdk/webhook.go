package main

import (
	"strings"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsapigatewayv2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awslambda"
	"github.com/aws/aws-cdk-go/awscdk/v2/awslogs"
	"github.com/aws/jsii-runtime-go"
)

// makeWebhook puts the function that answers API servers' questions behind an HTTP API. API servers can prove to nobody who they
// are: the path is secret, calls are few, and the function may read a catalog and nothing else.
func (r *region) makeWebhook(f function, made awslambda.CfnFunction) {
	api := awsapigatewayv2.NewCfnApi(r.stack, s("WebhookApi"), &awsapigatewayv2.CfnApiProps{
		Name: s("joiner-webhook"), ProtocolType: s("HTTP"), Description: s("Admission of NodePools and EC2NodeClasses"),
	})
	awsapigatewayv2.NewCfnIntegration(r.stack, s("WebhookIntegration"), &awsapigatewayv2.CfnIntegrationProps{
		ApiId: api.Ref(), IntegrationType: s("AWS_PROXY"), IntegrationUri: made.AttrArn(), PayloadFormatVersion: s("2.0"), TimeoutInMillis: n(1000 * f.TimeoutS),
	})
	route := awsapigatewayv2.NewCfnRoute(r.stack, s("WebhookRoute"), &awsapigatewayv2.CfnRouteProps{
		ApiId: api.Ref(), RouteKey: s("POST /{proxy+}"), AuthorizationType: s("NONE"), Target: sub("integrations/${WebhookIntegration}"),
	})
	excuse(route, "AwsSolutions-APIG4", "API servers of EKS cannot authenticate: the path is secret, and the function compares it")
	logs := awslogs.NewCfnLogGroup(r.stack, s("WebhookApiLogs"), &awslogs.CfnLogGroupProps{
		LogGroupName: s("/aws/apigateway/joiner-webhook"), RetentionInDays: n(r.o.LogRetentionDays), KmsKeyId: kmsOf(r.o),
	})
	// The path is secret and stays out of the log.
	format := `{"requestId":"$context.requestId","ip":"$context.identity.sourceIp","time":"$context.requestTime","status":"$context.status","latency":"$context.responseLatency"}`
	awsapigatewayv2.NewCfnStage(r.stack, s("WebhookStage"), &awsapigatewayv2.CfnStageProps{
		ApiId: api.Ref(), StageName: s("$default"), AutoDeploy: jsii.Bool(true),
		AccessLogSettings:    &awsapigatewayv2.CfnStage_AccessLogSettingsProperty{DestinationArn: logs.AttrArn(), Format: s(format)},
		DefaultRouteSettings: &awsapigatewayv2.CfnStage_RouteSettingsProperty{ThrottlingBurstLimit: n(20), ThrottlingRateLimit: n(10)},
	})
	awslambda.NewCfnPermission(r.stack, s("WebhookCalls"), &awslambda.CfnPermissionProps{
		Action: s("lambda:InvokeFunction"), FunctionName: made.Ref(), Principal: s("apigateway.amazonaws.com"),
		SourceAccount: sub("${AWS::AccountId}"), SourceArn: sub("arn:${AWS::Partition}:execute-api:${AWS::Region}:${AWS::AccountId}:${WebhookApi}/$default/POST/*"),
	})
	awscdk.NewCfnOutput(r.stack, s("WebhookURL"), &awscdk.CfnOutputProps{
		Description: s("Of admission; a secret of the parameter " + webhookParameter + " follows"), Value: sub("${WebhookApi.ApiEndpoint}/"),
	})
}

// webhookParameter holds the secrets of the path, or better sha256: and the digest of each, since nodes of the account can read parameters.
// People make it, once: CloudFormation makes no SecureString.
const webhookParameter = "/joiner/webhook"

func parameterARN(name string) *string {
	return sub("arn:${AWS::Partition}:ssm:${AWS::Region}:${AWS::AccountId}:parameter/%s", strings.TrimPrefix(name, "/"))
}
