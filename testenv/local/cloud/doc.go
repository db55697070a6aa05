// Package cloud is the front door of our model of AWS: one loopback port that
// speaks every modeled service to unmodified SDK clients and the AWS CLI. It
// decides who a request is from (the signature is verified), which service it
// is for (the credential scope says), and what goes wrong on the way (faults,
// latency); it keeps the log of what was called. What a service answers is the
// business of the packages below, which register as plain http.Handlers.
//
//	c, err := cloud.Start(ctx, cloud.Options{})
//	c.Register("dynamodb", dynamodb.NewHandler(model))
//	client := sqs.NewFromConfig(c.Config())
//
// STS, SQS and S3 are always there; the others are registered by whoever wants
// them. From a shell:
//
//	aws --endpoint-url http://127.0.0.1:PORT sqs list-queues
//
// (The flag rather than AWS_ENDPOINT_URL: version 1 of the CLI does not look at
// the variable for SQS.)
package cloud
