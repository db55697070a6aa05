package lambdaruntime_test

import (
	"errors"
	"net/http/httptest"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	sdk "github.com/aws/aws-sdk-go-v2/service/lambda"
	"github.com/aws/aws-sdk-go-v2/service/lambda/types"

	"github.com/joiner-sh/joiner/testenv/local/lambdaruntime"
)

func TestAnAccountSaysWhatConcurrencyItHas(t *testing.T) {
	runner := newRunner(t, lambdaruntime.Config{AccountConcurrency: 300})
	server := httptest.NewServer(lambdaruntime.NewHandler(runner))
	defer server.Close()
	client := sdk.New(sdk.Options{Region: "us-west-2", BaseEndpoint: aws.String(server.URL), Credentials: credentials.NewStaticCredentialsProvider("id", "secret", "")})
	account := func() (limit, unreserved int32) {
		t.Helper()
		out, err := client.GetAccountSettings(t.Context(), &sdk.GetAccountSettingsInput{})
		if err != nil {
			t.Fatal(err)
		}
		return out.AccountLimit.ConcurrentExecutions, aws.ToInt32(out.AccountLimit.UnreservedConcurrentExecutions)
	}
	if limit, free := account(); limit != 300 || free != 300 {
		t.Errorf("limit %d, unreserved %d", limit, free)
	}
	configuration := &sdk.GetFunctionConfigurationInput{FunctionName: aws.String("fixture")}
	var none *types.ResourceNotFoundException
	if _, err := client.GetFunctionConfiguration(t.Context(), configuration); !errors.As(err, &none) {
		t.Errorf("a function that is not there: %v", err)
	}
	deploy(t, runner, func(f *lambdaruntime.Function) { f.ReservedConcurrency = aws.Int(65) })
	if limit, free := account(); limit != 300 || free != 235 {
		t.Errorf("limit %d, unreserved %d", limit, free)
	}
	if out, err := client.GetFunctionConfiguration(t.Context(), configuration); err != nil || aws.ToString(out.FunctionName) != "fixture" {
		t.Errorf("%+v %v", out, err)
	}
}
