import { randomUUID } from 'node:crypto';
import type { Approval, ApprovalRequest } from '../model/call.ts';
import { isRecord, type JsonRecord } from '../model/record.ts';
import { VERBS } from '../report/sentences.ts';
import { notificationMessage, type Parts, requestMessage } from './protocol.ts';

/** Time limit for the user's answer to a question. After it, the question counts as unanswered. */
const QUESTION_MS: number = 30 * 60_000;
/** Maximum number of open questions. If there are more, the oldest one counts as unanswered. */
const MAX_OPEN = 64;
/** The prefix of the ids of our questions. */
const QUESTION_ID = 'lookfirst-approval-';
/** The key of the question in an `input_required` result. */
const APPROVAL_INPUT = 'approval';

type ApprovalForm = {
  readonly mode: 'form';
  readonly message: string;
  readonly requestedSchema: { readonly type: 'object'; readonly properties: Record<string, never> };
};

/** The parameters of `elicitation/create`. The form is empty: accepting it is the approval. */
function approvalForm({ path, to, action, diff }: ApprovalRequest): ApprovalForm {
  const names = [path, ...(to === undefined ? [] : [to])].map((name) => JSON.stringify(name)).join(' to ');
  const question = `Allow the agent to ${VERBS[action]} ${names}? This file needs your approval.`;
  return {
    mode: 'form',
    message: diff === undefined ? question : `${question}\n\n${diff}`,
    requestedSchema: { type: 'object', properties: {} },
  };
}

/** Reads the result of `elicitation/create`. Only `accept` approves; an error or an unknown answer does not. */
function approvalOf(result: unknown): Approval {
  const action = isRecord(result) ? result['action'] : undefined;
  if (action === 'accept') return 'approved';
  return action === 'decline' || action === 'cancel' ? 'declined' : undefined;
}

/**
 * Asks the user of one client over stdio. Sends each question as a request to the client, which
 * only protocol revisions before 2026-07-28 allow.
 */
export class Questions {
  readonly #send: (parts: Parts) => boolean;
  readonly #open = new Map<unknown, (answer: Approval) => void>();
  #count = 0;

  constructor(send: (parts: Parts) => boolean) {
    this.#send = send;
  }

  /** Sends the question, and withdraws it if the call is cancelled or the time limit passes. */
  ask(request: ApprovalRequest, signal: AbortSignal): Promise<Approval> {
    // An aborted signal fires no event any more, so the question would stay open.
    if (signal.aborted) return Promise.resolve(undefined);
    this.#count += 1;
    const id = `${QUESTION_ID}${this.#count}`;
    return new Promise((resolve) => {
      const settle = (answer: Approval): void => {
        this.#open.delete(id);
        clearTimeout(timer);
        signal.removeEventListener('abort', withdraw);
        resolve(answer);
      };
      const withdraw = (): void => {
        this.#send(notificationMessage('notifications/cancelled', { requestId: id }));
        settle(undefined);
      };
      const timer = setTimeout(withdraw, QUESTION_MS).unref();
      signal.addEventListener('abort', withdraw, { once: true });
      this.#open.set(id, settle);
      this.#send(requestMessage(id, 'elicitation/create', approvalForm(request)));
    });
  }

  /** Passes the client's answer to the open question with this id. Ignores an answer with any other id. */
  answered(id: unknown, result: unknown): void {
    this.#open.get(id)?.(approvalOf(result));
  }
}

/**
 * The result that a client of revision 2026-07-28 gets if a call needs the user's approval. The
 * client asks the user, then repeats the call with the answer and `requestState`.
 */
export interface InputRequired {
  readonly inputRequests: {
    readonly [APPROVAL_INPUT]: {
      readonly method: 'elicitation/create';
      readonly params: ApprovalForm;
    };
  };
  readonly requestState: string;
}

/** A call of a client of revision 2026-07-28, while it runs. */
export interface Round {
  /** Approves a change that the user has approved. Throws for any other change, which ends the call. */
  readonly approve: (request: ApprovalRequest) => Promise<Approval>;
  /** The question with which the call ended; undefined if it needs no further answer. */
  question(): InputRequired | undefined;
}

interface OpenQuestion {
  /** The call as text, to compare it with the repeated call. */
  readonly call: string;
  /** The exact change that the user was asked about. */
  readonly asked: string;
  /** The changes that the user has approved for this call before. */
  readonly approved: readonly string[];
}

/**
 * The open questions of calls of revision 2026-07-28. A call that needs the user's approval ends
 * with a question, before it changes anything, and the client sends it again with the user's
 * decision. The decision applies to exactly the change that was shown.
 */
export class OpenQuestions {
  readonly #open = new Map<string, OpenQuestion>();

  /** Begins a call. `params` may hold the user's answer and the state of the question. */
  begin({ name, arguments: args, inputResponses, requestState }: JsonRecord): Round {
    const call = JSON.stringify([name, args]);
    const answered = this.#taken(requestState, call);
    const decision = approvalOf(isRecord(inputResponses) ? inputResponses[APPROVAL_INPUT] : undefined);
    const approved = [...(answered?.approved ?? [])];
    if (answered !== undefined && decision === 'approved') approved.push(answered.asked);
    let open: ApprovalRequest | undefined;
    return {
      approve: async (request) => {
        if (approved.includes(request.mark)) return 'approved';
        if (request.mark === answered?.asked) return decision;
        open = request;
        throw new Error('the call waits for its user');
      },
      question: () =>
        open === undefined ? undefined : this.#ask(open, { call, asked: open.mark, approved }),
    };
  }

  /** The question with this state, if it was asked by the same call. No question is answered twice. */
  #taken(requestState: unknown, call: string): OpenQuestion | undefined {
    if (typeof requestState !== 'string') return undefined;
    const question = this.#open.get(requestState);
    this.#open.delete(requestState);
    return question?.call === call ? question : undefined;
  }

  #ask(request: ApprovalRequest, question: OpenQuestion): InputRequired {
    const requestState = randomUUID();
    const [oldest] = this.#open.keys();
    if (this.#open.size >= MAX_OPEN && oldest !== undefined) this.#open.delete(oldest);
    this.#open.set(requestState, question);
    setTimeout(() => this.#open.delete(requestState), QUESTION_MS).unref();
    const params = approvalForm(request);
    return { inputRequests: { [APPROVAL_INPUT]: { method: 'elicitation/create', params } }, requestState };
  }
}
