// Package access says what a request of an AWS service asks of IAM: which actions, on which resources, with which condition keys;
// and it keeps an account's policies (Book), decides by them and remembers what was allowed and refused by which statement.
// How a request is decided is package policy. What EC2 asks for depends on what the account has, so EC2's model says it itself.
//
// An action this package does not know is an error: a role with policies cannot do it. Sources: service authorization reference,
// "Actions, resources, and condition keys" for SQS, DynamoDB, S3, Systems Manager, EKS, Price List and EC2; what that leaves open
// is in testenv/local/cloud/ASSUMPTIONS.md.
package access
