package probes

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/ssm"
	"github.com/aws/aws-sdk-go-v2/service/sts"

	"github.com/joiner-sh/joiner/cmd/joiner/proof"
)

// nobodysKey is the key pair AWS prints in its documentation: it opens nothing.
const nobodysKey, nobodysSecret = "AKIAI44QH8DHBEXAMPLE", "je7MtGbClwBF/2Zp9Utk/h3yCo8nvbEXAMPLEKEY"

func front() []proof.Probe {
	body := object("front-changed-body", "a body that is not the one signed is refused with a name of its own by S3", "a signed PUT with another body",
		proof.Seen{"put": "400 XAmzContentSHA256Mismatch"}, changedBody)
	return []proof.Probe{
		{
			ID: "front-unknown-key", Service: "sts", Assumption: "a key that nobody has is refused in the words of each service", About: "a call to each of six services with a key from AWS's documentation",
			Kind: proof.KindDryRuns, Lasts: 2 * time.Second, Run: unknownKey,
			Readings: one("STS and SQS say InvalidClientTokenId, JSON services UnrecognizedClientException, EC2 AuthFailure, S3 InvalidAccessKeyId", proof.Seen{
				"sts": "403 InvalidClientTokenId", "sqs": "InvalidClientTokenId | UnrecognizedClientException", "ssm": "UnrecognizedClientException",
				"dynamodb": "UnrecognizedClientException", "ec2": "401 AuthFailure", "s3": "403 InvalidAccessKeyId",
			}),
		},
		{
			ID: "front-signature-age", Service: "sts", Assumption: "a signature is good for 15 minutes either way", About: "GetCallerIdentity signed 14 and 16 minutes ago, and 16 minutes ahead",
			Kind: proof.KindDryRuns, Lasts: 2 * time.Second, Run: signatureAge,
			Readings: one("up to 15 minutes", proof.Seen{"14 minutes old": "200", "16 minutes old": "403", "16 minutes ahead": "403"}),
		},
		body,
	}
}

func unknownKey(ctx context.Context, e *proof.Env) (proof.Seen, error) {
	c := e.ClientsAs("nobody", credentials.NewStaticCredentialsProvider(nobodysKey, nobodysSecret, ""))
	_, ofSTS := c.STS.GetCallerIdentity(ctx, &sts.GetCallerIdentityInput{})
	_, ofSQS := c.SQS.GetQueueUrl(ctx, &sqs.GetQueueUrlInput{QueueName: aws.String(e.Name("nothing"))})
	_, ofSSM := c.SSM.GetParameter(ctx, &ssm.GetParameterInput{Name: aws.String(proof.Path + "nothing")})
	_, ofDynamoDB := c.DynamoDB.ListTables(ctx, &dynamodb.ListTablesInput{})
	_, ofEC2 := c.EC2.DescribeAvailabilityZones(ctx, &ec2.DescribeAvailabilityZonesInput{})
	_, ofS3 := c.S3.ListBuckets(ctx, &s3.ListBucketsInput{Prefix: aws.String(proof.Prefix)})
	return proof.Seen{
		"sts": status(ofSTS), "sqs": proof.Code(ofSQS), "ssm": proof.Code(ofSSM), "dynamodb": proof.Code(ofDynamoDB), "ec2": status(ofEC2), "s3": status(ofS3),
	}, proof.Answered(ofSTS, ofSQS, ofSSM, ofDynamoDB, ofEC2, ofS3)
}

// signed sends a request of the caller's that no SDK signs, as of a time, with a digest that may be another body's.
func signed(ctx context.Context, e *proof.Env, service, action, method, url, contentType string, body []byte, digest string, at time.Time) (status int, answer string, err error) {
	keys, err := e.Config.Credentials.Retrieve(ctx)
	if err != nil {
		return 0, "", err
	}
	r, err := http.NewRequestWithContext(proof.WithOperation(ctx, service, action), method, url, bytes.NewReader(body))
	if err != nil {
		return 0, "", err
	}
	if contentType != "" {
		r.Header.Set("Content-Type", contentType)
	}
	r.Header.Set("X-Amz-Content-Sha256", digest)
	signer := v4.NewSigner(func(o *v4.SignerOptions) { o.DisableURIPathEscaping = service == "s3" })
	if err := signer.SignHTTP(ctx, keys, r, digest, service, e.Region, at); err != nil {
		return 0, "", err
	}
	response, err := e.Sender().Do(r)
	if err != nil {
		return 0, "", err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	return response.StatusCode, string(text), err
}

func digest(body []byte) string {
	sum := sha256.Sum256(body)
	return hex.EncodeToString(sum[:])
}

// endpoint returns the URL of a service in the region.
func endpoint(e *proof.Env, service string) string {
	if e.Config.BaseEndpoint != nil {
		return *e.Config.BaseEndpoint + "/"
	}
	suffix := ".amazonaws.com/"
	if e.Partition == "aws-cn" {
		suffix = ".amazonaws.com.cn/"
	}
	return "https://" + service + "." + e.Region + suffix
}

func signatureAge(ctx context.Context, e *proof.Env) (proof.Seen, error) {
	seen := proof.Seen{}
	body := []byte("Action=GetCallerIdentity&Version=2011-06-15")
	ages := map[string]time.Duration{"14 minutes old": -14 * time.Minute, "16 minutes old": -16 * time.Minute, "16 minutes ahead": 16 * time.Minute}
	for _, fact := range sorted(ages) {
		// The clock of the host: it is what all requests are signed by.
		code, _, err := signed(ctx, e, "sts", "GetCallerIdentity", http.MethodPost, endpoint(e, "sts"), "application/x-www-form-urlencoded", body, digest(body), time.Now().Add(ages[fact]))
		if err != nil {
			return nil, err
		}
		seen[fact] = count(code)
	}
	return seen, nil
}

func changedBody(ctx context.Context, e *proof.Env) (proof.Seen, error) {
	bucket, err := proof.Bucket(ctx, e)
	if err != nil {
		return nil, err
	}
	code, answer, err := signed(ctx, e, "s3", "PutObject", http.MethodPut, endpoint(e, "s3")+bucket+"/changed", "", []byte("two"), digest([]byte("one")), time.Now())
	if err != nil {
		return nil, err
	}
	return proof.Seen{"put": count(code) + " " + between(answer, "<Code>", "</Code>")}, nil
}

// between returns what stands between two words of a text.
func between(text, before, after string) string {
	_, rest, ok := strings.Cut(text, before)
	if !ok {
		return ""
	}
	out, _, _ := strings.Cut(rest, after)
	return out
}
